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
  /^(?:0+|n|no|none|never|nothing|false|ko|nok|ng|nak|fail(?:ed|ure)?|error|denied|refused|rejected)$|^not[ _]/i;

/** Values of the `status` of a resource that describe its state, and no failure: a deleted key may be blocked. */
export const RESOURCE_STATE = /^(?:blocked|(?:in|not[ _-]?)valid)$/i;

/** An HTTP status of a failure, or a code that begins with one: `404`, `40401`, `404 Not Found`, `HTTP/1.1 404 Not Found`. */
export const HTTP_FAILURE = /^(?:HTTP\/\d(?:\.\d)? )?[45]\d\d(?:\d\d| [A-Za-z][\w '-]*)?$/;

/** Names of query parameters for the page size. */
export const SIZE_PARAMETER = /\b(?:limit|size|per page|top|take|first|row|count|max result)$/;

/** Names of flags that are true if an action failed. The words before are verbs, or name what failed. */
export const FAILURE_FLAG =
  /^(?:(?:is|has|had|was|did|access|action|auth|authentication|authorization|login|operation|request) )*(?:fail|failed|failing|failure|error|errored|exception|denied|denial|blocked|rejected|rejection|refused|forbidden|aborted|unauthori[sz]ed|invalid|unsuccessful)(?: flag| indicator)?$/;
