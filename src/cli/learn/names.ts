/**
 * Names of fields that inference is not certain of, for suggestions: a person checks them. Patterns match the words of
 * a path as in `inference/vocabulary.ts`: lower case, singular, separated by spaces.
 */

/** Last words of the ID of a record. */
export const ID_ENDS =
  /(?:^| )(?:id|uuid|guid|uid|pk|ref|reference|number|num|no|nr|seq|sequence|serial|index|rowid|identifier|qualifier)$/;

/** Words that may precede it: they mean the record, or nothing. */
export const RECORD_WORDS =
  /^(?:(?:event|audit|log|entry|record|activity|history|trail|journal|row|line|item|message|msg|alert|notification|change|action|operation|transaction|txn|unique|global|internal|tracking|system|sys|auto|increment|sequence|seq|serial|doc|document|the|of|id) )*$/;

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
  /(?:^| )(?:by|actor|author|operator|performer|executor|editor|modifier|updater|uploader|submitter|creator|initiator|agent|who)$/,
  /(?:^| )(?:user|usr|login|account|member|employee|staff|person|principal|identity|subject|admin|administrator|owner|sender|customer|clerk|technician|worker|caller|requester|requestor|responsible|client|contact|logon|accessor|auth|authentication)$/,
] as const;

/**
 * Words for what surrounds an event, describes its record, or names a person. A thing whose name has one is not the
 * target of the event.
 */
export const CONTEXT_NAMES =
  /(?:^| )(?:org|organization|organisation|tenant|account|company|workspace|customer|site|realm|domain|session|request|correlation|trace|span|transaction|log|event|audit|record|row|entry|activity|action|operation|parent|client|device|browser|os|platform|agent|application|app|service|component|module|location|country|city|region|zone|geo|network|host|hostname|server|node|source|origin|channel|interface|version|schema|severity|level|priority|category|status|state|result|outcome|response|error|reason|time|timestamp|date|hash|etag|sequence|group|batch|page|role|scope|environment|env|actor|user|admin|administrator|operator|member|employee|staff|owner|author|creator|person|principal|identity|auth|authentication|login|by|method|protocol|port|ip|address|tag|label|parameter|param|property|attribute|field|header|link|self|href|extra|external|internal|reference|rule|team|shard|index)(?= |$)/;

/** Words for the object of an event, best first; added to those that inference knows. */
export const TARGET_NAMES = [
  /(?:^| )(?:target|object|obj|affected|entity|recipient|to|on|onto|destination|dest|subject|item|asset)$/,
  /(?:^| )(?:file|filename|document|path|table|collection|database|bucket|folder|project|repository|repo|dataset|dashboard|argument|arg|topic|queue|ticket|order|invoice)$/,
] as const;
