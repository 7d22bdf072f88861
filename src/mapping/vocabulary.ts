/**
 * All words that mapping knows. Names are matched as words: lower case, singular, separated by spaces (see
 * `splitMemberName`).
 */

/** Texts that mean "no value". */
export const NO_VALUE = /^(?:|-|n\/a|null)$/i;

/** Flags; the group is that of true. */
export const FLAG = /^(?:(true|yes|on|y|t|1)|false|no|off|n|f|0)$/i;

/** Success, if a text begins with one of these as a whole word: `completed_with …`, not `failover`. */
export const SUCCESS =
  /^(?:(?:true|ok|okay|pass(?:ed)?|done)$|(?:success(?:ful(?:ly)?)?|succeed(?:s|ed)?|allow(?:s|ed)?|grant(?:s|ed)?|permit(?:s|ted)?|accept(?:s|ed)?|approved|completed?)(?![a-z]))/i;

/** Failure, if a text begins or ends with one of these as a whole word. */
export const FAILURE =
  /^(?:false|fail(?:s|ed|ing|ures?)?|(?:error|block|abort|reject)(?:s|ed)?|rejection|refus(?:es?|ed|al)|forbid(?:s|den)?|den(?:y|ies|ied|ial)|(?:un|not )authori[sz]ed|(?:in|not )valid|unsuccessful(?:ly)?|not (?:ok|success(?:ful)?|succeeded|found|allowed|permitted|granted|accepted|approved|passed|done|completed?|executed|processed|deleted))(?![a-z])|(?<!^no )(?:failed|failures?|(?<![a-z])(?:errors?|denied|rejected|not found))$/i;

/** Texts that mean that a request was not executed, in addition to FAILURE. */
export const NOT_EXECUTED =
  /^(?:no|not[ _-]?(?:found|removed|revoked|exist(?:s|ing)?|supported|implemented|possible|eligible.*|able.*))$/i;

/** A negation. As the value of a success flag, any negation is a failure: `{"deleted": "not_yet"}`. */
export const NEGATION = /^(?:not|Not|NOT)(?:[ _-]|[A-Z])/;

/** A text that means "no", or "not" something. Others may be the ID of what was deleted. */
export const NO =
  /^(?:0+|n|no|none|never|nothing|false|ko|nok|ng|fail(?:ed|ure)?|error|denied|refused|rejected)$|^not[ _]/i;

/** Values of an error member that mean "no error". */
export const NO_ERROR =
  /^(?:|0+|2\d\d|-|n\/a|null|false|no|none|no[ _-]errors?|ok)$|^success|^(?!.*(?:\b(?:not|cannot|unable)\b|n't|fail).*\bsuccess).*\bsuccess/i;

/** Texts next to a missing list that mean that nothing is wrong. */
export const NOTHING_WRONG =
  /^(?:|0+|2\d\d|ok(?:ay)?|success\w*|done|complete[d]?|none|null|false|empty|no (?:(?:more|matching|new|such|audit|log|event|activity) )*(?:record|result|event|log|entr|data|item|row|match|activit)\w*(?: (?:were |was )?(?:found|available))?)\W*$/i;

/** Values of the `status` of a resource that describe its state, and no failure: a deleted key may be blocked. */
export const RESOURCE_STATE = /^(?:blocked|(?:in|not[ _-]?)valid)$/i;

/** An HTTP status of a failure, or a code that begins with one: `404`, `40401`, `404 Not Found`, `HTTP/1.1 404 Not Found`. */
export const HTTP_FAILURE = /^(?:HTTP\/\d(?:\.\d)? )?[45]\d\d(?:\d\d| [A-Za-z][\w '-]*)?$/;

/** Codes of a refused token: `invalid_token` (RFC 6750, section 3.1), `invalid_grant` (RFC 6749, section 5.2), `bad_refresh_token` (GitHub). */
export const TOKEN_REFUSAL = /^(?:invalid|bad|expired) (?:(?:access|refresh) )?(?:token|grant)$/;

/** Names of query parameters for the page size. */
export const SIZE_PARAMETER = /\b(?:limit|size|per page|top|take|first|row|count|max result)$/;

/** Names of flags that are true if an action failed. The words before are verbs, or name what failed. */
export const FAILURE_FLAG =
  /^(?:(?:is|has|had|was|did|access|action|auth|authentication|authorization|login|operation|request) )*(?:fail|failed|failing|failure|error|errored|exception|denied|denial|blocked|rejected|rejection|refused|forbidden|aborted|unauthori[sz]ed|invalid|unsuccessful)(?: flag| indicator)?$/;

/** Names of the members of a response that say whether the request succeeded. */
export const RESPONSE_NAMES = {
  success: /^(?:is )?(?:success|successful|ok|succeeded)$/,
  error: /^error(?: (?:code|message))?$|^(?:is )?failed$|^failure$/,
  /** An outcome in words or an HTTP status. */
  status:
    /^(?:result|outcome|(?:http |response )?status|(?:(?:error|err|http|http status|status|response|result|return|ret) )?code|errcode|retcode)$/,
  /** The ID of a resource. The ID of a request or trace does not count: it may be next to a status. */
  id: /^(?:(?:client|key|api key|secret) )?id$/,
  /** Objects that repeat the query, or are about something else. Their members are ignored. */
  excluded:
    /\b(?:filter|query|parameter|param|criteria|search|request|option|permission|link|facet|shard|paging|pagination)\b/,
  /** Objects that contain statistics. Only counts of a deletion and of its errors are read there. */
  statistics: /\b(?:stat|statistic|summary|total|count)\b/,
  /** A text that may say why there is no list. */
  explanation:
    /\b(?:err|error|errmsg|errcode|exception|fault|problem|reason|message|msg|detail|description|title|status|state|code|result)\b/,
} as const;

/** Stems of the verbs of a deletion. */
const STEMS = 'delet|remov|destroy|purg|eras|revok|invalidat';

/** Participles of deletions, and those that may mean less. */
const DELETED = `(?:${STEMS}|expung|wip|dropp|discard|(?:un|de)register|unlink)ed`;
const DISABLED =
  '(?:deactivat|disabl|archiv|terminat|retir|trash|evict|clear|cancell?|deauthoriz|deprovision)ed|withdrawn';

/** A participle in a name. The group is one that may mean less than a deletion. */
export const PARTICIPLE = new RegExp(`\\b(?:${DELETED}|(${DISABLED}))\\b`);

/** An imperative in a name, or its noun. */
export const IMPERATIVE =
  /^(?:delete|remove|revoke|destroy|purge|erase|invalidate|deactivate)(?= )|(?<= )(?:delete|remove|revoke|destroy)$|^(?:deletion|removal|revocation)$/;

/** In a name with a verb of a deletion: it is something else, such as `deleted by`, `delete protection`, `to be deleted`. */
export const NO_RESULT =
  /\b(?:by|on|user|reason|url|link|href|since|until|after|before|policy|protection|marker|method|permission|enabled|will|would|to|be|can|could|should|allow|auto|include|show|with|last|for|hard|permanently|not|already|previously|if)\b/;

/** Words of a name that add nothing to its verb, those for any thing, and those for a key. */
const FILLERS = 'is|was|has|been|successfully|num|number|no|of|total|count|n';
const THINGS =
  'list|id|ids|item|row|record|document|object|entity|element|entry|result|resource|detail';
const OWN = 'api|key|secret|client|credential|token';

/** Words of a name with a verb that name nothing, and the words that name a key. */
export const NO_NOUN = new RegExp(`\\b(?:${FILLERS}|${THINGS})\\b`, 'g');
export const OWN_NOUN = new RegExp(`^(?: |${OWN})*$`);

/** What may be around a verb: `is deleted`, `number of deleted rows`. */
const BEFORE = `^(?:(?:${FILLERS}) )*`;
const AFTER = `(?: (?:${FILLERS}|${THINGS}|${OWN}))*$`;

/** Names of the members of a response to a deletion. */
export const DELETION_NAMES = {
  participle: PARTICIPLE,
  time: /\b(?:at|date|time|timestamp)\b/,
  /** Numbers of rows that a database library reports for a deletion, and those that may be 0 after one. */
  rows: new RegExp(`${BEFORE}(?:\\w+ )?affected${AFTER}|^row ?count$|^update count$`),
  plainRows: /^(?:change|n)$/,
  otherRows: new RegExp(
    `${BEFORE}(?:\\w+ )?(?:changed|modified|updated|written|match(?:e|ed)?|processed|success(?:e|ful)?|succeeded)${AFTER}|^(?:num )?row$|^count$`,
  ),
  /** Lists, counts and flags of what does not exist. */
  missing: new RegExp(
    `(?:^| )(?:not ?found|not exist(?:ing)?|missing|non ?exist(?:ent|ing)?|unknown|unmatched)${AFTER}|\\b(?:already|previously) (?:${DELETED}|${DISABLED})\\b`,
  ),
  found: /^(?:is |was )?(?:found|existed)$/,
  /** Flags that say that nothing is deleted yet: it was a trial, or must be confirmed. */
  trial:
    /^(?:is )?(?:dry ?run|simulated?|simulation|preview|what ?if|validate only)$|\bwould\b.*\b(?:delete|remove|revoke)|\b(?:confirm\w*|approval) (?:required|needed)$|^(?:require|need) (?:\w+ )?(?:confirm\w*|approval)$/,
  /** Lists, counts and flags of what was not deleted. */
  undone: new RegExp(
    [
      `\\bnot (?:${DELETED}|${DISABLED})\\b`,
      `${BEFORE}(?:errored|rejected|denied|refused|unsuccessful|invalid|unprocessed|undeleted|(?:version )?conflict)${AFTER}`,
      `${BEFORE}failed(?: (?!login|logon|sign|auth|attempt|request|call|try|password)\\w+)*$`,
    ].join('|'),
  ),
  skipped: new RegExp(`${BEFORE}(?:skipped|ignored|unchanged|unaffected|no ?op)${AFTER}`),
  /** Flags that are false, and lists that have nothing, if it was not deleted. */
  done: /^(?:is |was )?(?:acknowledged|applied|accepted|executed|performed|allowed|permitted|authori[sz]ed|deletable|removable)$|^can (?:be )?(?:delete|remove|revoke)d?$| (?:success|successful|succeeded)$|^(?:data|response|payload|body)$/,
  error: new RegExp(
    `^(?!.*\\b(?:last|previous|max|login|on|ignore|report|no)\\b)(?:.* )?(?:error|err|errcode|errno|exception|failure|fault|violation)(?: code)?${AFTER}`,
  ),
  /** A text about the result; one that may be about a resource; a code; and a type. */
  message:
    /^(?:(?:error|err|status|response|return|display) )?(?:message|msg|errmsg|errormsg|text|detail|cause|warning)$/,
  description:
    /^(?:(?:error|err|status) )?(?:description|reason|info|title|note|notice|explanation)$/,
  status:
    /(?:^| )(?:status|state|phase|result|outcome|code|deletion|removal|revocation)$|^(?:success|ok)$/,
  type: /^(?:type|type name|kind|severity|level)$/,
  wrapper: /^(?:data|result|response|payload|body|value|output|return|returning|d)$/,
  /** An object that is about the deletion, if it is not the body. */
  plain:
    /^$|(?:^| )(?:data|result|response|payload|body|value|output|return|d|meta|metadata|info|detail|object|raw|operation|task|job|status|deletion|removal|revocation)$|\b(?:delete|remove|revoke)d?\b/,
  complete: /^(?:is )?(?:done|completed?|finished)$/,
  /** The ID of a resource, and what describes it. With both, or two of the latter, an object is a resource. */
  id: /^(?:(?:client|key|api key|secret|token|application|resource|record|credential) )?(?:id|uuid|uid|guid|arn)$/,
  describesResource:
    /^(?:\w+ )?(?:name|label|scope|prefix|role|owner|hint|fingerprint|permission)$|\b(?:created?|creation|updated?|modified|used|issued|expired?|expiry|expiration)\b.*\b(?:at|on|by|time|date|timestamp)$|^(?:created|expire|expiry|expiration)$/,
} as const;

/** A status that is not the final one, and one that a key cannot have before its deletion. */
export const PENDING_STATUS =
  /^(?:pending|(?:en)?queued|scheduled|accepted|submitted|in ?progress|processing|running|(?:not ?)?started|initiated|waiting)$/;
export const DELETING_STATUS =
  /^(?:deleting|removing|revoking|terminating|pending deletion|deletion (?:pending|scheduled))$/;

/** Words that end the clause of a negation: `no errors`, `cannot be used once deleted`. */
const CLAUSE_END =
  'errors?|fail\\w*|problems?|issues?|longer|once|when|after|if|because|until|before|and|but|or|so';

const VERBS = `(?:${STEMS}|deactivat|disabl)`;
const THING =
  '(?:api ?key|key|client|secret|credential|token|resource|record|item|id|user|entity|object|document)';

/** What a text about a deletion says. */
export const DELETION_TEXTS = {
  /** Nothing was deleted: `could not be deleted`, `0 rows affected`, `DELETE 0`. */
  undone: new RegExp(
    [
      `(?:\\b(?:not|cannot|unable|fail\\w*|refus\\w+|never)|n['’]t)\\b(?: (?!(?:${CLAUSE_END}|was|were|is|are)\\b)[\\w()'’-]+){0,4}? ${VERBS}\\w*`,
      `\\b(?:nothing|none|no|zero|0)\\b(?: (?!(?:${CLAUSE_END})\\b)[\\w()'’-]+){0,4}? (?:${VERBS}|affected|changed|modified|matched)`,
      `\\b(?:${VERBS}\\w*|affected)(?: (?:rows?|keys?|records?|documents?|items?|count))?(?: ?[:=] ?| )(?:(?:0|zero|none|nothing)\\b(?![.,]\\d)|no (?:rows?|keys?|records?|documents?|items?)\\b)`,
    ].join('|'),
    'gi',
  ),
  /** It was deleted, if no negation is before it. `to be deleted` does not say so. */
  done: new RegExp(`(?<!\\bbe )\\b${VERBS}e?d\\b`, 'i'),
  /** It is to be deleted later. */
  pending:
    /\b(?:scheduled|marked|queued|pending|submitted) for (?:deletion|removal)\b|\bwill be (?:deleted|removed|revoked)\b|\bdeletion (?:\w+ ){0,2}?(?:scheduled|queued|started|requested|initiated|in progress)\b/i,
  /** There is no such key, or no more. */
  notFound: new RegExp(
    [
      `\\b(?:already|previously|or)(?: \\w+){0,3}? ${VERBS}e?d\\b`,
      "\\bnot ?(?:be |been )?found\\b|\\bno such\\b|(?:\\bnot|n['’]t) exist|\\bnon-?exist",
      `\\bunknown (?:\\w+ ){0,2}${THING}\\b|\\b${THING} unknown\\b`,
      `\\bno (?:\\w+ ){0,3}?${THING}s?\\b(?: \\w+){0,3}? (?:found|exists?|match\\w*)\\b`,
      "(?:\\b(?:not|cannot|unable to|failed to)|n['’]t) (?:find|locate)\\b",
    ].join('|'),
    'i',
  ),
  /** The request is refused, whatever exists. */
  denied:
    /\b(?:permission|access) (?:is )?denied\b|(?:n['’]t|\b(?:not|no|lacks?|insufficient|missing))(?: \w+)? (?:permissions?|privileges?|rights)\b|\b(?:forbidden|unauthori[sz]ed|unauthenticated)\b|\bnot authori[sz]ed\b|\binvalid (?:client|token|grant)\b/i,
  /** It failed otherwise. */
  failed:
    /\bwent wrong\b|\btry again\b|\bnot (?:allowed|permitted|supported|implemented|possible|eligible|affected|changed|modified|successful)\b|\berrors? occurr|\bnothing to (?:delete|remove|revoke|do)\b|\bun(?:affected|changed|modified|supported|successful)\b|\bno-?op\b|\bno changes?\b|\b(?:is|are) (?:protected|locked|read.only|in use)\b|\b(?:confirm\w*|approval) required\b|^error\b(?!s? ?:? ?(?:none|0|no|null|false)\b)/i,
} as const;

/** A word or a code that reports a failure, in words; and one that says that there is no such key. */
export const FAILED_CODE =
  /^(?:skipped|ignored|partial\w*|aborted|conflict|protected|rejected|timed? ?out|unknown|nothing|ko|nok|ng|err|failed?.*)(?: success| failure)?$|(?:exception|error|fault)$/i;
export const NOT_FOUND_CODE =
  /(?:^| )(?:\w*not ?found|no such \w+|(?:not|non) ?exist\w*|missing|unknown (?:key|client|id|resource))(?: (?:exception|error|fault|failure))?$/i;
