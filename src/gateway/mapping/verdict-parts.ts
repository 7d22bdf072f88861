import type { CallKind } from '../upstream/status.ts';
import type { ErrorsContract } from './contract.ts';
import { classifyNames, type MemberName, splitMemberName } from './member-names.ts';
import { firstNames, isObject, parseHttpStatus } from './values.ts';
import { NAMES } from './verdict-words.ts';
import { RESOURCE_STATE } from './vocabulary.ts';

/** What a 2xx response says of its own success. */
export type Says =
  | 'DONE'
  | 'FAILED'
  /** There is no such key. */
  | 'ABSENT'
  /** The token of the request is refused. */
  | 'REFUSED_TOKEN'
  /** It is not done yet. */
  | 'LATER'
  /** The response has only a part of what was requested. */
  | 'PART'
  /** It says something that no rule understands. */
  | 'UNKNOWN'
  | 'NOTHING';

/** What was requested. */
export type Judged = {
  readonly operation: CallKind;
  /** Of a deletion: may be the name of a member that holds the result, as in `{"ci-bot": false}`. */
  readonly clientId?: string;
  /** The list of the records, or what else is data: it is not examined. */
  readonly data?: unknown;
  readonly errors: ErrorsContract;
};

/** A member of an object, with the words of its name. */
export type Member = Pick<MemberName, 'words'> & { readonly value: unknown };

/** A class of names, see {@link NAMES}. */
export type Name = keyof typeof NAMES;
/** The classes of one name. */
export type Names = ReadonlySet<Name>;

/** A member of the body, at any depth. */
export type Part = {
  readonly member: Member;
  readonly names: Names;
  readonly pointer: string;
  /** The names of the object or list that contains it. */
  readonly parent: Names;
  /** What contains it: the result, an error, statistics, or a resource, such as the key as it was before. */
  readonly of: 'result' | 'error' | 'statistics' | 'resource';
  readonly isListed: boolean;
  /** Whether there is an ID next to it, or an array. */
  readonly hasId: boolean;
  readonly hasList: boolean;
  /** Whether a link or a cursor of the next page is next to it. */
  readonly hasNext: boolean;
  /** Whether it repeats the client ID. */
  readonly isEcho: boolean;
};

/** Objects and arrays within each other that are examined; items of an array; members of an object, and in total. */
const [MAX_DEPTH, MAX_ITEMS, MAX_MEMBERS, MAX_PARTS] = [7, 100, 500, 2000];

/** The classes of a name in words. Cached, see `memoize`. */
export const namesOf = classifyNames(NAMES);

/** The members of an object; none for any other value. */
export function toMembers(value: unknown): readonly (Member & Pick<MemberName, 'pointerToken'>)[] {
  if (!isObject(value)) return [];
  const names = firstNames(value).slice(0, MAX_MEMBERS);
  return names.map((name) => ({ ...splitMemberName(name), value: value[name] }));
}

/** Lists the members of a body, but not those of the data or of a related thing, nor what repeats the query. */
export function listParts(
  body: unknown,
  { operation, clientId = '', data }: Judged,
): readonly Part[] {
  const parts: Part[] = [];
  const isDeletion = operation === 'deletion';
  const visit = (
    value: unknown,
    parentWords: string,
    pointer: string,
    depth: number,
    context: Pick<Part, 'isListed'> & { readonly isError: boolean },
  ) => {
    if (depth > MAX_DEPTH || parts.length > MAX_PARTS || (value === data && depth > 0)) return;
    const parent = namesOf(parentWords);
    const isError =
      context.isError ||
      parent.has('error') ||
      (/\bdetail$/.test(parentWords) && listsProblems(value));
    if (Array.isArray(value)) {
      // Of lists, those of errors speak, and the results of a deletion.
      if (!isDeletion && !isError && !parent.has('text') && value !== body) return;
      for (const [index, item] of value.slice(0, MAX_ITEMS).entries())
        visit(item, parentWords, `${pointer}/${index}`, depth + 1, {
          isListed: true,
          isError,
        });
    }
    const members = toMembers(value);
    const hasId = members.some((member) => namesOf(member.words).has('id'));
    const hasList = members.some((member) => Array.isArray(member.value));
    const hasNext = members.some(({ words, value }) => /\bnext\b/.test(words) && value !== null);
    const described = members.filter(({ words }) => namesOf(words).has('describesResource')).length;
    // `{"deleted": {"id": "k", "revoked": false}}` has the key as it was.
    const isOfDeletion = isDeletion && parent.has('participle');
    const isRelated = !isDeletion && members.some(({ words }) => /(?:^| )id$/.test(words));
    const isResource =
      !isError &&
      (described + Number(hasId) > 1 || (hasId && isOfDeletion) || (isRelated && depth > 0));
    const of: Part['of'] = isResource
      ? 'resource'
      : isError
        ? 'error'
        : parent.has('statistics')
          ? 'statistics'
          : 'result';
    const shared = {
      ...{ parent, of, hasId, hasList, hasNext },
      isListed: context.isListed || isOfDeletion,
    } as const;
    const isOfText = parent.has('text') && !parentWords.includes('detail');
    const add = (given: Member, at: string) => {
      const member =
        isOfText && typeof given.value === 'string' ? { ...given, words: 'text' } : given;
      parts.push({
        ...{ member, names: namesOf(member.words), pointer: at },
        ...{ isEcho: member.value === clientId && clientId !== '', ...shared },
      });
    };
    if (typeof value === 'string' && !isOfDeletion)
      add(
        {
          words: isError || /\bwarning$/.test(parentWords) ? 'text' : parentWords || 'text',
          value,
        },
        pointer,
      );
    else if (
      /^(?:boolean|number)$/.test(typeof value) &&
      (depth === 0 || (depth === 1 && Array.isArray(body)))
    )
      add({ words: 'whole', value }, pointer);
    const own =
      isDeletion && isObject(value) && Object.hasOwn(value, clientId) ? value[clientId] : null;
    if (!isResource && own !== null && typeof own !== 'object')
      for (const words of typeof own === 'string' ? ['result'] : ['deleted', 'result'])
        add({ words, value: own }, `${pointer}/${splitMemberName(clientId).pointerToken}`);
    for (const member of members) {
      const { pointerToken, words, value: inner } = member;
      const at = `${pointer}/${pointerToken}`;
      const names = namesOf(words);
      const isState = isResourceState(member) && (isResource || (hasId && depth > 0));
      if (!isState && (inner !== data || data === undefined)) add(member, at);
      if (/\bdetail$/.test(words) && listsProblems(inner)) add({ words: 'error', value: true }, at);
      if (isResource || typeof inner !== 'object') continue;
      // Warnings have codes of their own. Their sentences speak.
      if (/\bwarning$/.test(words) && [inner].flat().some(isObject)) continue;
      if (names.has('excluded') && !names.has('error')) continue;
      if (names.has('shard')) {
        if (isObject(inner) && Number(inner['failed']) > 0)
          add({ words: 'partial', value: true }, `${at}/failed`);
        continue;
      }
      visit(inner, names.has('error') && !isObject(inner) ? parentWords : words, at, depth + 1, {
        isListed: context.isListed,
        isError: isError || names.has('error'),
      });
    }
  };
  visit(body, '', '', 0, { isListed: false, isError: false });
  return parts;
}

/** Whether a value is a list of errors, as that of FastAPI is: `[{"loc": [], "msg": "", "type": ""}]`. */
function listsProblems(value: unknown): boolean {
  const isProblem = (item: unknown) =>
    toMembers(item).some(({ words }) =>
      /^(?:msg|message|loc|reason|error|issue|field)$/.test(words),
    );
  return Array.isArray(value) && value.length > 0 && value.every(isProblem);
}

/** Whether a member is the state of a resource and no failure, if it is one of a resource. */
function isResourceState({ words, value }: Member): boolean {
  return words === 'status' && typeof value === 'string' && RESOURCE_STATE.test(value);
}

/** The HTTP status of a failure that a member holds, if any. */
export function statusesOf({ member: { value }, names, of, isListed }: Part): readonly number[] {
  if (!names.has('status') || (of === 'resource' && !isListed)) return [];
  return parseHttpStatus(value) === 'FAILURE' ? [Number(value)] : [];
}
