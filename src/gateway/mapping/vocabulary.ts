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
  /^(?:|0+|2\d\d|-|n\/a|null|false|no|none|no[ _-]?errors?|ok)$|^success|^(?!.*(?:\b(?:not|cannot|unable)\b|n't|fail).*\bsuccess).*\bsuccess/i;

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
