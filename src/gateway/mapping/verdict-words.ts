/**
 * The words with which a service says whether a request succeeded. Names and codes are matched as words: lower case,
 * separated by spaces, names in the singular (see `splitMemberName`). Sentences are matched as they are.
 */

/** Verbs of a deletion, and verbs that may mean less: these count in names only. */
const DELETED =
  '(?:delet|remov|destroy|purg|eras|revok|invalidat|expung|wip|dropp|discard|unlink)ed';
const DISABLED =
  '(?:deactivat|disabl|archiv|terminat|retir|trash|evict|clear|deauthoriz|deprovision|(?:un|de)register)ed|withdrawn';

/** A participle in a name. The group is one that may mean less than a deletion. */
export const PARTICIPLE = new RegExp(`\\b(?:${DELETED}|(${DISABLED}))\\b`);

/** An imperative in a name, or its noun. */
export const IMPERATIVE =
  /^(?:delete|remove|revoke|destroy|purge|erase|invalidate|deactivate)(?= |$)|(?<= )(?:delete|remove|revoke|destroy)$|^(?:deletion|removal|revocation)$/;

/** The name of a reason why a key was to be deleted: `revocation reason`. */
export const WHY_DELETED = new RegExp(
  `^(?:${DELETED}|${DISABLED}|deletion|removal|revocation) reason$`,
);

/** In a name with a verb of a deletion: it is something else, such as `deleted by`, `delete protection`, `to be deleted`. */
export const NO_RESULT =
  /\b(?:by|on|user|reason|url|link|href|since|until|after|before|policy|protection|marker|method|permission|enabled|will|would|to|be|can|could|should|allow|auto|include|show|with|last|for|hard|permanently|not|already|previously|if)\b/;

/** Words of a name that add nothing to its verb, and those for a key or for any thing. */
const FILLERS = 'is|was|has|been|successfully|num|number|no|of|total|count|n';
const THINGS =
  'list|id|ids|item|row|record|document|object|entity|element|entry|result|resource|detail';
const OWN = 'api|key|secret|client|credential|token';

/** Words of a name with a verb that name nothing. */
export const NO_NOUN = new RegExp(`\\b(?:${FILLERS}|${THINGS})\\b`, 'g');
/** Words that name a key. */
export const OWN_NOUN = new RegExp(`^(?: |${OWN})*$`);

/** What may be around a word: `num failed`, `failed key ids`. */
const BEFORE = `^(?:(?:${FILLERS}) )*`;
const AFTER = `(?: (?:${FILLERS}|${THINGS}|${OWN}))*$`;

/** What may be before the name of a code or a status: `response code`, but not `country code`. */
const OF_RESULT =
  '(?:api|biz|business|deletion|err|error|exit|final|grpc|http|job|login|message|operation|overall|process|reply|request|resp|response|result|ret|return|revocation|rpc|service|status|sub|system|task)';

/** Names of members that may say something of the result, and of what is around them. */
export const NAMES = {
  /** A flag of success. */
  success: /^(?:is |was |has )?(?:success|successful|succeeded|ok|okay)$/,
  /** What describes an error: a code, a text, a list or an object of errors. */
  error: new RegExp(
    `^(?!.*\\b(?:last|previous|max|login|on|ignore|report|no(?= ))\\b)(?:.* )?(?:error|err|errcode|errno|exception|failure|fault|violation|problem)(?: (?:code|number|no|status|description|summary|reason|type|message|msg|text|info|detail))*${AFTER}`,
  ),
  /** A code or a status. */
  status: new RegExp(
    `^(?:${OF_RESULT} )*(?:status|state|phase|result|outcome|code|ret|res|rc|rtn|ack|retcode|errcode|errno|disposition|verdict)$|^(?:deletion|removal|revocation)$`,
  ),
  /** The state of anything: it may say that the deletion goes on. */
  state: /(?:^| )(?:status|state|phase)$/,
  /** A text about the result. */
  text: new RegExp(
    `^(?:(?:${OF_RESULT}|display|user|developer|human|localized) )*(?:message|msg|msg description|errmsg|errormsg|text|display text|detail|info|cause|reason|title|description|explanation|hint|note)$`,
  ),
  /** Flags that are false if nothing is wrong: `is exceeded`. */
  negative:
    /\b(?:reached|exceeded|required|needed|expired|limited|blocked|locked|timed|deprecated|truncated|throttled|cached|used|shared|nested|suspended|paused|banned|muted|starred|hidden|read|embedded|advanced|linked|un ?\w+ed)\b/,
  type: /^(?:type|type name|kind|severity|level)$/,
  /** False, or not done yet. */
  complete: /^(?:is )?(?:done|completed?|finished|ready)$/,
  /** False, or null if it holds the result. */
  done: /^(?:is |was )?(?:acknowledged|applied|accepted|executed|performed|allowed|permitted|authori[sz]ed|authenticated|deletable|removable)$|^can (?:be )?(?:delete|remove|revoke)d?$| (?:success|successful|succeeded)$|^(?:data|response|payload|body)$/,
  wrapper: /^(?:data|result|response|payload|body|value|output|return|returning|d)$/,
  participle: PARTICIPLE,
  time: /\b(?:at|date|time|timestamp)\b/,
  /** Numbers of rows that were deleted, numbers of other things, and numbers of what is not known. */
  affected: new RegExp(`${BEFORE}(?:\\w+ )?affected${AFTER}`),
  amount: new RegExp(
    `${BEFORE}(?:(?!last )\\w+ )?(?:change[ds]?|modified|updated|written|match(?:e|ed)?|processed|success(?:e|ful)?|succeeded|row)${AFTER}|^(?:(?:${THINGS}|${OWN}) )*count$|^n$`,
  ),
  count: /\bcount$/,
  /** Lists, counts and flags of what does not exist. */
  missing: new RegExp(
    `(?:^| )(?:not ?found|not exist(?:ing)?|missing|non ?exist(?:ent|ing)?|unknown|unmatched)${AFTER}|\\b(?:already|previously) (?:${DELETED}|${DISABLED})\\b`,
  ),
  /** Flags of what is not done yet. */
  pending: /\b(?:pending|queued|scheduled|marked)\b/,
  /** Flags that say that nothing is deleted yet: it was a trial, or must be confirmed. */
  trial:
    /^(?:is )?(?:dry ?run|simulated?|simulation|preview|what ?if|validate only)$|\bwould\b.*\b(?:delete|remove|revoke)|\b(?:confirm\w*|approval) (?:required|needed)$|^(?:require|need) (?:\w+ )?(?:confirm\w*|approval)$/,
  /** Lists, counts and flags of what was not done. */
  undone: new RegExp(
    [
      `\\bnot (?:${DELETED}|${DISABLED})\\b`,
      `${BEFORE}(?:errored|faulted|rejected|denied|refused|forbidden|unauthori[sz]ed|unsuccessful|invalid|unprocessed|undeleted|(?:version )?conflict)${AFTER}`,
      `${BEFORE}fail(?:ed|s)?(?: (?!login|logon|sign|auth|attempt|request|call|try|password)\\w+)*$`,
    ].join('|'),
  ),
  /** A response that has only a part of what was requested. */
  part: /^(?:is )?(?:timed out|partial|incomplete|degraded)$/,
  /** An object that is about the result, if it is not the body. */
  plain:
    /^$|(?:^| )(?:data|result|response|payload|body|value|output|return|d|meta|metadata|head|header|info|detail|object|raw|operation|task|job|status|error|err|fault|exception|failure|problem|deletion|removal|revocation)$|\b(?:delete|remove|revoke)d?\b/,
  /** Numbers and flags of something else. */
  other:
    /\b(?:remaining|left|total|time|took|duration|elapsed|expired?|cached|truncated|more|code|status|version|offset|page|warning)\b|(?:^| )m?s$/,
  /** What says nothing of the result: identifiers, links, versions, times. */
  silent:
    /(?:^| )(?:id|uuid|uid|sid|guid|arn|key|rev|revision|etag|link|url|uri|href|self|version|time|timestamp|date|at|took|duration|elapsed|trace|request|correlation|copyright|license|help|documentation)$|^(?:jsonrpc|odata)\b/,
  /** The ID of a resource, and what describes it. With both, or two of the latter, an object is a resource. */
  id: /^(?:(?:client|key|api key|secret|token|application|resource|record|credential) )?(?:id|uuid|uid|sid|guid|arn|key|rev)$/,
  describesResource:
    /^(?:\w+ )?(?:name|label|scope|prefix|role|owner|hint|fingerprint|permission)$|\b(?:created?|creation|updated?|modified|used|issued|expired?|expiry|expiration)\b.*\b(?:at|on|by|time|date|timestamp)$|^(?:created|expire|expiry|expiration)$|^date (?:created|updated)$/,
  /** What describes the request, not the result. */
  meta: /(?:^| )(?:meta|metadata)$/,
  /** Objects that repeat the query, or are about something else. Their members are ignored. */
  excluded:
    /\b(?:filter|query|parameter|param|criteria|search|request|option|permission|link|facet|paging|pagination|page|page info|cursor|config|setting|feature|quota|included)\b|^result info$/,
  /** Parts of a search that answered; only those that failed count. */
  shard: /\bshard\b/,
  /** Objects that contain statistics. Only counts of a deletion and of its errors are read there. */
  statistics: /\b(?:stat|statistic|summary|total|count)\b/,
} as const;

/** Values of an error member that mean "no error". */
export const NO_ERROR =
  /^(?:|0+|2\d\d|-|n\/a|null|false|no|none|no[ _-]?errors?|ok)$|^success|^(?!.*(?:\b(?:not|cannot|unable)\b|n't|fail).*\bsuccess).*\bsuccess/i;

/** Texts beside an empty list that mean that nothing is wrong. */
export const NOTHING_WRONG =
  /^(?:|0+|2\d\d|ok(?:ay)?|success\w*|done|complete[d]?|none|null|false|empty|nothing (?:was |is )?(?:found|available)|(?:there (?:are|is|were) )?no (?:(?:more|matching|new|such|audit|log|event|activity|api) )*(?:record|result|event|log|entr|data|item|row|match|activit)\w*(?: (?:were |was |are |is )?(?:found|available|exist|yet))?)[\s.!]*$/i;

/** A code of success, whatever it succeeded in. */
export const SUCCESS_CODE =
  /^(?:s|y|true|yes|ok|okay|pass(?:ed)?|done|finished|normal|ack|processed|executed|good)$|(?:^| )(?:success(?:ful(?:ly)?)?|succe(?:ed|eds|eded)|complete[ds]?|completed?)(?= |$)|^(?:allow|grant|permit|approve|accept)(?:s|t?ed)?$/;

/** A status that is not the final one. */
export const PENDING_STATUS =
  /(?:^| )(?:pending|scheduled|accepted|received|(?:not ?)?started|initiated|waiting|(?:en)?queued|submitted|in ?progress|processing|running)$/;
/** A status that a key cannot have before its deletion. */
export const DELETING_STATUS =
  /^(?:deleting|removing|revoking|terminating|pending deletion|deletion (?:pending|scheduled))$|(?:^| )(?:(?:en)?queued|submitted|in ?progress|processing|running)$/;

const THING = `(?:${THINGS}|${OWN}|request|err|error|e)`;
/** A code of a key that does not exist. With another noun, such as `user not found`, the key may exist. */
export const NOT_FOUND_CODE = new RegExp(
  `^(?:http \\d \\d )?(?:404 )?(?:${THING} )*(?:(?:not ?found|(?:does )?(?:not|non) ?exist(?:s|ing|ent)?)|(?:no such|unknown) ${THING})(?: ${THING}| exception| fault)*$`,
  'i',
);

/** A code, or a short text, that says that the token is refused. */
export const REFUSED_TOKEN =
  /^(?!.*(?:csrf|xsrf|page|device|reset|permission))(?:(?=.*\b(?:token|session|jwt|bearer|credential|grant|auth)\b)(?=.*\b(?:expired?|invalid|bad|malformed|revoked)\b).*|(?:\S+ ){0,2}(?:un ?authori[sz]ed|un ?authenticated|not (?:authenticated|logged in|signed in)|(?:login|authentication|sign in) (?:is )?required))$/;

/** A negation, a zero or a word of failure. In a sentence it may mean anything: "Deleted, no errors". */
export const FAILING =
  /(?<![\w-])(?:not|no(?! content)|none|nothing|never|cannot|unable|fail\w*|wrong|den(?:y|ied)|forbidden|refused|reject\w*|un(?:affected|authori[sz]ed|authenticated|available|changed|successful\w*|supported|expected)|in(?:valid|correct|sufficient)|missing|expired|exceeded|too many|already|protected|locked|skipped|ignored|partial\w*|abort\w*|conflict|timed? ?out|(?:\w*(?:error|exception|fault))s?|ko|nok|nak|ng|err|no-?op|0|zero)(?![\w-]|[.,:]\d)|n['’]t\b/i;

/** Words of what is not done yet, in a sentence. */
export const LATER = /\b(?:will be|scheduled|queued|pending|in progress|accepted)\b/i;

/** A sentence that says that something was done. */
export const DONE = new RegExp(
  `\\b(?:${DELETED}|success(?:ful(?:ly)?)?|succeeded|ok|okay|completed?|done|no content)\\b`,
  'i',
);
/** Words after which a sentence does not say that something was done. */
export const MAY_BE = /\b(?:can|may|must|should|could|would|please|if|to be)\b/i;
