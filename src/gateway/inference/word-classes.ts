/** Words of one meaning in the names of fields: lower case and singular, see `splitMemberName`. */
const WORDS = {
  id: 'id uuid guid uid gid oid sid pk urn arn identifier key ref reference number num no identificador kennung identifiant',
  name: 'name label title nombre nome nom username nickname alias login handle upn fullname displayname bezeichnung descriptor',
  email: 'email mail correo courriel',
  type: 'type kind class category tipo typ model',
  actor:
    'actor initiator by originator originating operator performer executor invoker requester requestor caller who author principal admin administrator user login identity member person employee editor accessor creator usuario usuaria benutzer utilisateur autor auteur ator',
  target:
    'target affected auditable model resource object entity asset item aggregate subject record objeto recurso ressource objekt ziel objet entidad entidade cible alvo',
  time: 'time timestamp date at on when clock instant ts datetime fecha hora data zeit zeitstempel zeitpunkt datum horodatage heure dt',
  happening:
    'occurred occurrence happened event published performed executed issued requested initiated started start created creation create inserted insert added action activity',
  recording:
    'recorded logged received ingested stored indexed written generated reported collected',
  'other time':
    'updated update modified modification changed expires expiry expire expiration ttl valid last next until end ended finished completed deleted due birth scheduled since from to elapsed duration timezone zone offset',
  action:
    'action operation operate activity command verb what event method change accion acao aktion vorgang evenement operacion operacao actividad',
  text: 'summary message description text comment detail note title descripcion descricao beschreibung mensaje',
  outcome:
    'outcome result success successful succeeded status state response disposition decision resultado estado ergebnis erfolg resultat statut exitoso',
  failure: 'fail failed failure error reason code',
  address: 'ip ipv4 ipv6 address addr direccion endereco adresse remote',
  'other address':
    'version release build dns subnet mask server destination dst dest local host proxy internal private node gateway nat',
  agent: 'agent ua client browser application useragent',
  record: 'event audit log entry record activity history trail row',
  surroundings:
    'org organization organisation tenant account workspace team company customer group department site project city country region location session device plan domain role owner parent manager',
  request: 'request trace correlation transaction session span operation batch',
  wrapper:
    'attribute payload detail data event log entry record row source audit context meta metadata property info information body content activity envelope field result extra',
} as const;

/** A meaning of words in the names of fields. */
export type WordClass = keyof typeof WORDS;

const CLASSES = Object.keys(WORDS) as WordClass[]; // a constant without other keys

const CLASSES_OF: ReadonlyMap<string, readonly WordClass[]> = (() => {
  const classes = new Map<string, WordClass[]>();
  for (const one of CLASSES)
    for (const word of WORDS[one].split(' '))
      classes.set(word, [...(classes.get(word) ?? []), one]);
  return classes;
})();

const NONE: readonly WordClass[] = [];

/** The meanings of a word. */
export function classesOf(word: string): readonly WordClass[] {
  return CLASSES_OF.get(word) ?? NONE;
}
