/**
 * The one table of names, best first. They are compared with the words of a place (see `wordsOf`): lower case,
 * singular, a blank between two. `event` rules see the way from the record on, without the names that only wrap.
 */

/** Names of an object that only wraps what it holds. */
export const WRAPPERS =
  /^(?:(?:attribute|(?:\w+ )?payload|detail|data|event|log|entry|record|row|source|audit|context|meta|metadata|property|info|information|body|content|activity|envelope|field|audit (?:log|event)|event (?:data|detail|info)|result)\/)+/;

/** Places that speak of something else: of earlier and later states, of links, of the request's own size. */
export const ASIDE =
  /\b(?:old|new|prev|previous|before|after|change|changed|diff|delta|impersonated|link|href|parent)\b/;

const ID = '(?:id|uuid|guid|[gosu]id|urn|arn)';

/** What may stand in front of a verb: anything else makes it the time of another thing, as of a key that was created. */
const OWN =
  '(?:(?:event|action|activity|record|log|entry|audit|row|date|time|timestamp|ts|dt|gmt|utc|request|operation|execution|transaction|message|system) )*';

/** Of a record: under which names it gives what. */
export const EVENT = {
  id: [
    /^(?:id|uuid|guid)$/,
    new RegExp(
      `^(?:event|audit|log|entry|record|activity|history|trail|unique|global|internal|insert|tracking| )+ ${ID}$`,
    ),
    new RegExp(`^(?:event |audit |log )?document ${ID}$`),
    new RegExp(`^(?:${ID}|identifier|sequence|sequence (?:no|num|number))$`),
  ],
  occurredAt: [
    /\b(?:occurred|occurrence|happened)\b/,
    /^(?:event|action|activity|execution|operation|audit|log|performed|transaction|request)? ?(?:timestamp|time|date time|date|when|instant|ts|at)(?: (?:utc|gmt|m|milli|epoch|iso|second|unix|time))*$/,
    new RegExp(`^${OWN}(?:published|performed|executed|issued|requested|initiated|started?)\\b`),
    new RegExp(`^${OWN}(?:created|creation|create|inserted|insert|added)\\b`),
    new RegExp(
      `^${OWN}(?:recorded|logged|received|ingested|stored|indexed|written|generated|reported|collected)\\b`,
    ),
    /\b(?:time|timestamp|date|at|on|instant)\b/,
  ],
  action: [
    /^action$/,
    /^action (?:name|type|code|key|value|verb|identifier|performed|taken|display name)$/,
    /^event (?:name|action)$/,
    /^event (?:type|code|key)(?: name| id)?$/,
    /^(?:audit )?event$/,
    /^(?:operation|activity|command|verb|what)(?: (?:name|type|code|key|display name))?$/,
    /(?:^| )(?:action|operation|activity)(?: (?:name|type))?$/,
    /^(?:audit|log|change|message|transaction|history|record|entry)(?: event| log)? (?:type|code)$/,
    /^(?:type|kind)(?: name)?$/,
    /^name$/,
    /^method(?: name)?$/,
    /^(?:summary|title|message|description|display message|text|event description|comment|detail|note)$/,
  ],
  outcome: [
    /^(?:action |event |operation |response |request )?(?:outcome|result|success|successful|succeeded|response|is success|is successful|status|state|disposition|decision)(?: (?:status|state|type|code|result|value|name|flag))?$/,
    /\b(?:outcome|result|success|successful|succeeded)$/,
    /\b(?:login|auth|authentication|authorization|access|api|call|request|response|operation|activity|execution|transaction|process|job|task|audit|completion|final|overall|attempt|http) status$/,
  ],
  ipAddress: [/\b(?:ip|ipv4|ipv6)\b/, /\baddress\b/, /(?:)/],
  userAgent: [
    /\buser agent(?: (?:raw|original|full|value|string|header|text|user agent))*$/,
    /^(?:raw |http )?user agent\b/,
    /\b(?:agent|ua|client|browser|application)\b/,
  ],
} as const satisfies Readonly<Record<string, readonly RegExp[]>>;

/** From which rule on a name says too little to stand in for a better one that most records have: of one without an action, `name` is something else's. */
export const FIRST_GUESS: Readonly<Record<keyof typeof EVENT, number>> = {
  id: 2,
  occurredAt: 5,
  action: 7,
  outcome: EVENT.outcome.length,
  ipAddress: 2,
  userAgent: 2,
};

/** Never the time of an event. */
export const OTHER_TIMES =
  /\b(?:updated|update|modified|modification|changed|expir\w*|expires|expiry|ttl|valid|last|next|until|end|ended|finished|completed|deleted|due|birth|scheduled|since|from|to|elapsed|duration|timezone|zone|offset)\b/;

/** Never the address of who acted. */
export const OTHER_ADDRESSES =
  /\b(?:version|release|build|dns|subnet|mask|server|destination|dst|dest|target|local|host|proxy|internal|private|node|gateway|nat|resource|object|asset)\b/;

/** Who acts and what is acted upon. A place belongs to the first of these words on its way. */
export const ROLES = {
  actor: [
    'actor',
    'initiator',
    'by',
    'originator',
    'originating',
    'operator',
    'performer',
    'executor',
    'invoker',
    'requester',
    'requestor',
    'caller',
    'who',
    'author',
    'principal',
    'admin',
    'administrator',
    'user',
    'login',
    'identity',
    'member',
    'person',
    'employee',
    'creator',
    'email',
  ],
  target: [
    'target',
    'affected',
    'auditable',
    'model',
    'resource',
    'object',
    'entity',
    'asset',
    'item',
    'subject',
    'record',
  ],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** What follows the role's word. */
export const PARTY = {
  identifier: [
    new RegExp(`^${ID}$`),
    new RegExp(`^(?:unique|external|global|account|public|internal|identity|principal) ${ID}$`),
    /^(?:key|identifier|ref|reference|path|uri)$/,
  ],
  name: [
    /^display name$/,
    /^(?:full |friendly |common )?name$/,
    /^(?:summary|label|title|descriptor|description|detail)$/,
    /^(?:primary |work )?email(?: address)?$/,
    /^(?:login|handle|nickname|alias|upn|alternate id|(?:login|principal|user|nick) name)$/,
  ],
  type: [/^type$/, /^(?:kind|class|category|type name)$/],
} as const satisfies Readonly<Record<string, readonly RegExp[]>>;

/** Whose token is for the next step of a login, not for what comes behind it. */
const STEP =
  'csrf|xsrf|mfa|otp|totp|reset|device|state|challenge|request|continuation|push|verification|verify|confirmation|activation|registration|invite|invitation|temporary|temp|pre|partial|step|factor|magic|flow';

/** The same, where it stands in front of `token` itself: one may log in by e-mail. */
const FACTOR = '\\w*fa|sms|email|captcha|pending|intermediate|interim|setup|enrollment';

/** Whatever else than what comes behind a login a token may be for. */
const NOT_ACCESS = `(?:refresh|type|${STEP})\\b|(?:${FACTOR})(?: \\w+)? token`;

/** In the answer of a login; a slash stands between two names. */
export const LOGIN = {
  accessToken: [
    /^(?!.*\brefresh\b).*\baccess[ /]token(?:[ /](?:token|value|key))*$/,
    new RegExp(
      `^(?!.*\\b(?:${NOT_ACCESS})).*\\b(?:auth|authentication|authorization|session|bearer|api|security|login|user)[ /]token(?:[ /](?:token|value))*$`,
    ),
    new RegExp(
      `^(?!.*\\b(?:(?:id|next|page)\\b|${NOT_ACCESS})).*\\btoken(?:[ /](?:token|value))*$`,
    ),
    /^(?:.*[ /])?(?:jwt|access|bearer)$/,
  ],
  refreshToken: [/\brefresh[ /]token(?:[ /](?:token|value))*$/, /^(?:.*[ /])?refresh$/],
  tokenType: [/\btoken[ /]type$/],
  expires: [
    /\bexpir\w*[ /]in\b/,
    /\bexpir/,
    /\b(?:lifetime|ttl|valid[ /]until|valid[ /]for|validity)\b/,
  ],
  /** What else may end. */
  others:
    /\b(?:refresh|id|password|device|secret|license|licence|trial|subscription|plan|certificate|cookie|invite|ext)\b/,
} as const;

/** Names of a list of records: those that say so, those that say nothing else, and those of another list. */
export const RECORDS = {
  sure: /\b(?:event|audit|log|activity|record|entry|history|trail)\b/,
  usual:
    /^(?:(?:.* )?(?:item|data|result|value|row|list|content|element|hit|resource|object|node|edge|collection|document|member))$/,
  other:
    /\b(?:error|warning|link|column|field|header|facet|filter|included|related|schema|parameter|sort)\b|\b(?:type|category|setting|definition)$/,
} as const;

/** In the answer around the records. */
export const ENVELOPE = {
  total:
    /^(?!.*\b(?:quota|rate|shard)\b)(?:.* )?total(?: (?:count|num|number|doc|document|item|result|record|element|row|hit|event|entry|object|log|size|length|available|matching|found))*$|\b(?:record|result|item|count) total$|\b(?:full|overall) count$/,
  count: /^(?!.*\b(?:quota|shard|page|unread|error|warning|user|retry|attempt)\b)(?:.* )?count$/,
  next: /^(?!.*\b(?:prev|previous|first|self|last)\b).*\bnext\b/,
  cursor:
    /^(?!.*\b(?:prev|previous|before|first|self|last|start|begin|query|filter|parameter|poll|interval|retry|sync)\b).*(?:\bnext\b|\b(?:cursor|continuation token|after|scroll id|marker|bookmark)$)/,
  more: /^(?!.*\bno\b).*\bmore\b|\bnext\b|\btruncated\b/,
  page: /^(?!.*\b(?:prev|previous|next|first|last|total|max|per)\b)(?:.* )?(?:page|page (?:num|number|no|index|current)|current page)$|^number$/,
  offset: /^(?:.* )?(?:offset|skip|start|start (?:at|index|row)|from)$/,
  pages: /\b(?:total page|page total|page count|num page|number of page|last page)$/,
} as const;
