/**
 * Names of fields that inference is not certain of, for suggestions: a person checks them. Patterns match the words of
 * a path as in `inference/vocabulary.ts`: lower case, singular, separated by spaces.
 */

/** Last words of the ID of a record. */
export const ID_ENDS =
  /(?:^| )(?:id|uuid|guid|uid|pk|ref|reference|number|num|no|nr|sequence|seq|serial|index|rowid|identifier|qualifier)$/;

/** Words that may precede it: they mean the record, or nothing. */
export const RECORD_WORDS =
  /^(?:(?:event|evt|audit|log|entry|record|rec|activity|history|trail|journal|row|line|item|message|msg|alert|notification|change|action|operation|transaction|txn|trx|unique|global|internal|tracking|system|sys|auto|increment|sequence|seq|serial|doc|document|the|of|id) )*$/;

/** The same without a separator: `seqno`. */
export const JOINED_ID =
  /^(?:event|evt|audit|log|entry|record|rec|activity|row|msg|seq|serial|trx|txn|doc)(?:id|no|nr|num|number|ref|uid|key)$/;

/** Names of an action, best first. */
export const ACTION_NAMES = [
  /(?:^| )(?:action|operation|activity|verb|command|cmd|procedure|task|act|crud|function|method)(?: (?:type|name|code|key|label|kind|id|desc|description|text))?$/,
  /(?:^| )(?:what|event|transaction|txn|trx|request|input|change|audit|subtype|sub type|type|kind|category|code|name|title|key)(?: (?:type|name|code|key|label|kind|id|desc|description|text))?$/,
  /(?:^| )(?:message|msg|description|summary|text|detail|detail|content|label|display|note|comment|remark|title|reason|statement|query|data)$/,
] as const;

/** A verb of an audit trail, as a word of a value. */
export const VERBS =
  /(?<![a-z])(?:(?:re|un|de|dis|auto)?(?:create|add|insert|new|del|delete|remove|rm|drop|purge|erase|update|modify|modified|edit|change|alter|patch|put|post|set|get|read|view|list|open|close|access|query|select|search|download|upload|export|import|send|sent|receive|login|logon|signin|log ?in|logged ?in|logged ?out|sign ?in|signed ?in|log ?out|logout|logoff|signout|log ?off|authenticate|authentication|authorize|approve|reject|enable|disable|activate|deactivate|lock|unlock|grant|revoke|assign|start|stop|run|execute|launch|deploy|build|install|uninstall|move|rename|copy|share|invite|join|leave|left|reset|rotate|issue|register|connect|disconnect|block|allow|deny|denied|fail|failed|submit|cancel|publish|archive|restore|backup|verify|generate|renew|transfer|attach|detach|merge|push|pull|commit|sync|scan|upgrade|complete|begin|end|schedule|print|save|ban|suspend|resume|expire|terminate)(?:s|es|d|ed|ing|ion|ation|al|ted|ged|led|ned|ped)?)(?![a-z])/i;

/** Words for the person who acts, best first; added to those that inference knows. */
export const ACTOR_NAMES = [
  /(?:^| )(?:by|actor|author|operator|performer|executor|editor|modifier|updater|uploader|submitter|creator|initiator|agent|who|oper|opr)$/,
  /(?:^| )(?:user|usr|login|member|employee|staff|person|principal|identity|admin|administrator|sender|clerk|technician|worker|caller|requester|requestor|responsible|logon|accessor|auth|authentication)$/,
  /(?:^| )(?:account|subject|owner|holder|customer|client|contact)$/,
] as const;

/** Who changed a thing. Other paths with a word for a change describe values before or after it. */
export const CHANGED_BY = /^(?:changed?|modified|updated?) by\b/;

/** The same for the thing that was changed. */
export const CHANGED_THING = /^changed? (?:object|entity|item|asset|resource|record)\b/;

/**
 * Words for what surrounds an event or describes its record. A thing whose name has one is not the target of the event:
 * `always`, or `often`, unless it is the only thing with an ID and a name.
 */
export const SURROUNDINGS = {
  always:
    /(?:^| )(?:org|organization|organisation|tenant|account|company|customer|realm|session|request|correlation|trace|span|transaction|log|event|audit|record|row|entry|activity|action|operation|parent|client|device|browser|os|platform|agent|location|country|city|region|zone|geo|source|origin|channel|interface|version|schema|severity|level|priority|category|status|state|result|outcome|response|error|reason|time|timestamp|date|hash|etag|sequence|batch|scope|by|method|protocol|port|ip|address|label|parameter|param|property|attribute|field|header|link|self|href|extra|external|internal|reference|rule|shard|index)(?= |$)/,
  often:
    /(?:^| )(?:workspace|site|domain|host|hostname|server|node|network|application|app|service|component|module|environment|env|group|team|role|page)(?= |$)/,
} as const;

/** Whether a thing is often around an event, and seldom its target. */
export function isSurrounding(noun: string): boolean {
  return SURROUNDINGS.always.test(noun) || SURROUNDINGS.often.test(noun);
}

/** Words for the object of an event, best first; added to those that inference knows. */
export const TARGET_NAMES = [
  /(?:^| )(?:target|object|obj|affected|entity|recipient|thing|to|on|onto|destination|dest|subject|item|asset)$/,
  /(?:^| )(?:file|filename|document|path|table|collection|database|bucket|folder|project|repository|repo|dataset|dashboard|argument|arg|topic|queue|ticket|order|invoice)$/,
] as const;
