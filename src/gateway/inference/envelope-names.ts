/**
 * The names that inference knows of the list of records and of the fields around it. Patterns are listed best first, and
 * match the words of a field's path: lower case, singular, separated by spaces (see `splitMemberName`).
 */

/** Names of the list of records: strong ones, weak ones that fit any list, and those of lists without records. */
export const LIST_NAMES = {
  strong: /\b(?:event|audit|log|activity|record|entry|history|trail)\b/,
  weak: /^(?:(?:.* )?(?:item|data|result|value|row|list|content|element|hit|resource|object|node|edge|collection|document|member))$/,
  excluded:
    /\b(?:error|warning|link|column|field|header|facet|filter|included|related|schema|parameter|sort)\b|\b(?:type|category|setting|definition)$/,
} as const;

/** The fields around the list of records, see `ListContract`. */
export const ENVELOPE_NAMES = {
  total:
    /^(?!.*\b(?:quota|rate|shard|remaining)\b)(?:.* )?total(?: (?:count|num|number|doc|document|item|result|record|element|row|hit|event|entry|object|log|size|length|available|matching|found|gte?|minimum|min|at least|lower bound|estimate|estimated|approximate))*$|\b(?:record|result|item|count) total$|\b(?:full|overall) count$/,
  count:
    /^(?!.*\b(?:quota|shard|page|unread|error|warning|user|retry|attempt|remaining)\b)(?:.* )?count$/,
  remaining:
    /^(?!.*\b(?:quota|rate|limit|retry|attempt|second|time)\b)(?:.* )?remaining(?: (?:count|item|record|event|entry|result|total))*$/,
  next: /^(?!.*\b(?:prev|previous|first|self|last)\b).*\bnext\b/,
  cursor:
    /^(?!.*\b(?:prev|previous|before|first|self|last|start|begin|query|filter|parameter|poll|interval|retry|sync)\b).*(?:\bnext\b|\b(?:cursor|continuation(?: token)?|after|continue|scroll id|marker|bookmark)$)/,
  /** Flags that are false on every page but the last. */
  last: /\b(?:last|final|no more)(?: page)?$|\b(?:eof|exhausted)$|\bend of \w+$|\b(?:is|at|has|reached)\b.*\bend$/,
  /** The same, but they may be true of a query that has ended while a cursor leads to more of its result. */
  done: /\bdone$/,
  /** The same, but true says only that this response, or the query, is complete. */
  complete: /\b(?:complete|completed|finished|end)(?: page)?$/,
  more: /^(?!.*\bno\b).*\bmore\b|\bnext\b|\btruncated\b/,
  /** Flags that say only if they are true that there are more. */
  partial: /\b(?:partial|incomplete)\b/,
  /** Flags whose names are no names of a cursor or a number, so that 1, 0 and "Y" are not either. */
  flag: /(?:\b(?:has|have|is|are|any|at|reached|on)\b.*\b(?:next|last|end)|\bnext\b.*\b(?:exist|available)|\b(?:more|truncated|final|done|complete|completed|finished|eof|exhausted|partial|incomplete))(?: (?:page|result|record|event|item|entry|row|data|available|exist|list))*$/,
  /** Neighbours of a total that say whether it is an estimate or a lower bound. */
  inexact:
    /\b(?:relation|estimate|estimated|approximate|approximated|approx|inexact|capped)$|\b(?:total|count|hit|result)\b.*\b(?:limited|bound|bounded|exceeded|overflow|overflowed|accuracy|precision|type|kind)$/,
  /** Names of a total that is one. */
  estimate:
    /\b(?:estimate|estimated|approximate|approximated|approx|gte?|minimum|min|at least|lower bound)\b/,
  exact: /\b(?:exact|accurate)\b/,
  page: /^(?!.*\b(?:prev|previous|next|first|last|total|max|per)\b)(?:.* )?(?:page|page (?:num|number|no|index|current)|current page)$|^number$/,
  offset: /^(?:.* )?(?:offset|skip|start|start (?:at|index|row)|from)$/,
  pages: /\b(?:total ?page|page total|(?:total)?page count|num page|number of page|last page)$/,
  size: /^(?!.*\b(?:quota|rate|ratelimit|max|total|query|filter)\b)(?:.* )?(?:per page|page size|page limit|limit|size)$/,
} as const;

/** What headers may hold. Others of the same names are those of a proxy, or of HTTP. */
export const HEADER_KINDS: ReadonlySet<string> = new Set(
  'total count pages page offset size more last next cursor flag'.split(' '),
);

/** Headers that count something else than records. The value of `x-search-after` may be on the last page too. */
export const OTHER_HEADER =
  /\b(?:after|rate|ratelimit|quota|request|retry|attempt|call|credit|usage|cost|time|byte|content|cache|age|error|warning)\b|^(?:x )?count$/;

/** Headers whose value may be a JSON object, such as `x-pagination`. */
export const JSON_HEADER = /pag(?:e|ing|inat)|meta|cursor|result|list|total|count/;

/** Words for a count that is an estimate or a lower bound: the relation of Elasticsearch and the like. */
export const INEXACT =
  /^(?:gte?|>=?|≥|~|(?:at[ _-]?)?least|lower|min|more|greater|over|approx|estimat|cap|limit|bound|inexact|partial|planned)/i;

/** A number with a mark of an estimate, such as `10000+`, or with separators. */
export const BOUND =
  /^(?:(?:[>≥~≈]=?|more than|over|at least|about|approx\w*\.?) *\d[\d,.' ]*[kmb]?|\d[\d,.' ]*[kmb]? *\+|\d{1,3}(?:[,.' ]\d{3})+)$/i;
