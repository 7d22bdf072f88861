/**
 * The words of responses to deletions, for names and codes that are split into words (see `splitMemberName`) and for
 * sentences.
 */

/** Verbs of a deletion, and verbs that may mean less. */
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

/** Words of a name with a verb that name nothing, and the words that name a key. */
export const NO_NOUN = new RegExp(`\\b(?:${FILLERS}|${THINGS})\\b`, 'g');
export const OWN_NOUN = new RegExp(`^(?: |${OWN})*$`);

/** What may be around a word: `num failed`, `failed key ids`. */
const BEFORE = `^(?:(?:${FILLERS}) )*`;
const AFTER = `(?: (?:${FILLERS}|${THINGS}|${OWN}))*$`;

/** Names of the members of a response to a deletion. */
export const DELETION_NAMES = {
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
  found: /^(?:is |was )?(?:found|existed)$|^did (?:\w+ )?exist$/,
  /** Flags of what is not done yet. */
  pending: /\b(?:pending|queued|scheduled|marked)\b/,
  /** Flags that say that nothing is deleted yet: it was a trial, or must be confirmed. */
  trial:
    /^(?:is )?(?:dry ?run|simulated?|simulation|preview|what ?if|validate only)$|\bwould\b.*\b(?:delete|remove|revoke)|\b(?:confirm\w*|approval) (?:required|needed)$|^(?:require|need) (?:\w+ )?(?:confirm\w*|approval)$/,
  /** Lists, counts and flags of what was not deleted. */
  undone: new RegExp(
    [
      `\\bnot (?:${DELETED}|${DISABLED})\\b`,
      `${BEFORE}(?:errored|faulted|rejected|denied|refused|unsuccessful|invalid|unprocessed|undeleted|(?:version )?conflict)${AFTER}`,
      `${BEFORE}fail(?:ed|s)?(?: (?!login|logon|sign|auth|attempt|request|call|try|password)\\w+)*$`,
    ].join('|'),
  ),
  skipped: new RegExp(`${BEFORE}(?:skipped|ignored|unchanged|unaffected|no ?op)${AFTER}`),
  /** Flags that are false, and lists that have nothing, if it was not deleted. */
  done: /^(?:is |was )?(?:acknowledged|applied|accepted|executed|performed|allowed|permitted|authori[sz]ed|deletable|removable)$|^can (?:be )?(?:delete|remove|revoke)d?$| (?:success|successful|succeeded)$|^(?:data|response|payload|body)$/,
  error: new RegExp(
    `^(?!.*\\b(?:last|previous|max|login|on|ignore|report|no(?= ))\\b)(?:.* )?(?:error|err|errcode|errno|exception|failure|fault|violation)(?: (?:code|description|summary|reason|type))?${AFTER}`,
  ),
  /** A text or a code about the result. */
  text: /^(?:(?:error|err|status|response|return|display) )?(?:message|msg|errmsg|errormsg|text|detail|cause|reason|title)$/,
  status:
    /(?:^| )(?:status|state|phase|result|outcome|reason|code|ret|rc|deletion|removal|revocation)$|^(?:success|ok)$/,
  type: /^(?:type|type name|kind|severity|level)$/,
  wrapper: /^(?:data|result|response|payload|body|value|output|return|returning|d)$/,
  /** An object that is about the deletion, if it is not the body. */
  plain:
    /^$|(?:^| )(?:data|result|response|payload|body|value|output|return|d|meta|metadata|head|header|info|detail|object|raw|operation|task|job|status|deletion|removal|revocation)$|\b(?:delete|remove|revoke)d?\b/,
  complete: /^(?:is )?(?:done|completed?|finished)$/,
  /** Numbers and flags of something else: zero says nothing of the deletion. */
  other:
    /\b(?:remaining|left|total|time|took|duration|elapsed|expired?|cached|truncated|more|code|status|version|offset|page)\b|(?:^| )m?s$/,
  /** The ID of a resource, and what describes it. With both, or two of the latter, an object is a resource. */
  id: /^(?:(?:client|key|api key|secret|token|application|resource|record|credential) )?(?:id|uuid|uid|guid|arn)$/,
  describesResource:
    /^(?:\w+ )?(?:name|label|scope|prefix|role|owner|hint|fingerprint|permission)$|\b(?:created?|creation|updated?|modified|used|issued|expired?|expiry|expiration)\b.*\b(?:at|on|by|time|date|timestamp)$|^(?:created|expire|expiry|expiration)$/,
} as const;

/** A status that is not the final one, and one that a key cannot have before its deletion. */
export const PENDING_STATUS =
  /(?:^| )(?:pending|scheduled|accepted|received|(?:not ?)?started|initiated|waiting)$/;
export const DELETING_STATUS =
  /^(?:deleting|removing|revoking|terminating|pending deletion|deletion (?:pending|scheduled))$|(?:^| )(?:(?:en)?queued|submitted|in ?progress|processing|running)$/;

/** A code of a key that does not exist. With another noun, such as `user not found`, the key may exist. */
const THING = `(?:${THINGS}|${OWN}|request|err|error|e)`;
export const NOT_FOUND_CODE = new RegExp(
  `^(?:http \\d \\d )?(?:404 )?(?:${THING} )*(?:(?:not ?found|(?:does )?(?:not|non) ?exist(?:s|ing|ent)?)|(?:no such|unknown) ${THING})(?: ${THING}| exception| fault)*$`,
  'i',
);

/** A negation, a zero or a word of failure. In a sentence it may mean anything: "Deleted, no errors". */
export const FAILING =
  /(?<![\w-])(?:not|no(?! content)|none|nothing|never|cannot|unable|fail\w*|wrong|den(?:y|ied)|forbidden|refused|reject\w*|un(?:affected|authori[sz]ed|changed|successful\w*|supported)|invalid|missing|already|protected|locked|skipped|ignored|partial\w*|abort\w*|conflict|timed? ?out|(?:\w*(?:error|exception|fault))s?|ko|nok|ng|err|no-?op|0|zero)(?![\w-]|[.,:]\d)|n['’]t\b/i;

/** Words of what is not done yet, in a sentence. */
export const LATER = /\b(?:will be|scheduled|queued|pending|in progress|accepted)\b/i;
