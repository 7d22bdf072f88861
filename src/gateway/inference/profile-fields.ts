import { splitMemberName } from '../mapping/member-names.ts';
import { firstNames, isObject } from '../mapping/values.ts';

/** A field in which at least one of the profiled values holds a string, a number or a boolean. */
export type FieldProfile = {
  /** JSON pointer (RFC 6901), relative to the profiled value. */
  readonly pointer: string;
  /** The words of each key, the keys separated by slashes: `actor/display name`. */
  readonly path: string;
  /** What the profiled values hold, in order, without null and the empty string. */
  readonly values: unknown[];
  /** The index of the profiled value that holds each of them. */
  readonly records: number[];
};

/** Maximum number of keys in a path. */
const MAX_KEYS = 6;

/** Maximum number of fields in a profile. */
const MAX_FIELDS = 1000;

/** Maximum number of keys in the tree of all keys: empty objects have no fields. */
const MAX_NODES = 3000;

/** Keys that only wrap a value: `{"value": …}`, or `{"$oid": …}` in MongoDB Extended JSON. */
const WRAPPER_KEYS = /^(?:value|\$\w+|#text|_)$/;

/** Limits of a profile. */
export type ProfileOptions = {
  /** Ends the profile after the first value for which this returns true. */
  readonly stopWhen?: (value: unknown, path: string) => boolean;
  /** Pointer of an object or array whose fields are not profiled. */
  readonly exclude?: string | null;
  /** Items of an array that are profiled. Default: 1. */
  readonly maxItems?: number;
  /** Maximum number of fields below one member of the profiled values. Default: none but that of all fields. */
  readonly maxFieldsPerMember?: number;
};

/** Lists the fields of some values, such as records, in the order found. */
export function profileFields(
  values: readonly unknown[],
  { stopWhen, exclude = null, maxItems = 1, maxFieldsPerMember = MAX_FIELDS }: ProfileOptions = {},
): readonly FieldProfile[] {
  const fields = new Map<string, FieldProfile>(); // by pointer
  let nodes = 0;
  let isStopped = false;

  let record = 0;

  const visit = (value: unknown, node: TreeNode): void => {
    if (typeof value === 'object' && value !== null) visitChildren(value, node);
    else {
      if (node.member.fields === maxFieldsPerMember && node.field === null) return;
      node.field ??= addField(node);
      node.field.values.push(value);
      node.field.records.push(record);
      isStopped = stopWhen?.(value, node.field.path) ?? false;
    }
  };

  const visitChild = (value: unknown, parent: TreeNode, key: string | number): void => {
    if (isNothing(value)) return;
    const child = parent.children?.get(key) ?? addChild(parent, key);
    if (child !== null) visit(value, child);
  };

  /** Null if there are too many. */
  const addChild = (parent: TreeNode, key: string | number): TreeNode | null => {
    const { member } = parent;
    const isFull = fields.size === MAX_FIELDS || nodes === MAX_NODES;
    if (isFull || member.nodes === 2 * maxFieldsPerMember) return null;
    nodes += 1;
    const child = createChild(parent, key);
    child.member.nodes += 1;
    return child;
  };

  const visitChildren = (value: object, node: TreeNode): void => {
    if (node.pointer === exclude) return;
    if (Array.isArray(value)) {
      for (let index = 0; index < value.length && index < maxItems; index += 1)
        visitChild(value[index], node, index);
    } else if (isObject(value) && node.keys < MAX_KEYS) {
      for (const key of firstNames(value)) {
        if (isStopped) return;
        visitChild(value[key], node, key);
      }
    }
  };

  /** The first item of an array and a member named `0` have the same pointer, so they share a field. */
  const addField = ({ pointer, path, member }: TreeNode): FieldProfile => {
    member.fields += 1;
    const field = fields.get(pointer) ?? { pointer, path, values: [], records: [] };
    fields.set(pointer, field);
    return field;
  };

  const root: TreeNode = {
    ...{ pointer: '', path: '', keys: 0, children: null, field: null },
    member: { fields: 0, nodes: 0 },
  };
  for (; record < values.length && !isStopped; record += 1)
    if (!isNothing(values[record])) visit(values[record], root);
  return [...fields.values()];
}

/** A node of the tree of all keys. The profiled values share it, because most have the same keys. */
type TreeNode = Pick<FieldProfile, 'pointer' | 'path'> & {
  /** Number of keys in the path. */
  readonly keys: number;
  /** By key, or by index in an array. */
  children: Map<string | number, TreeNode> | null;
  field: FieldProfile | null;
  /** Counts the fields and the nodes of the member of the profiled values that contains the node. */
  readonly member: { fields: number; nodes: number };
};

const isNothing = (value: unknown) => value === null || value === undefined || value === '';

function createChild(parent: TreeNode, key: string | number): TreeNode {
  parent.children ??= new Map();
  const { pointerToken, words } = splitMemberName(String(key));
  const isInPath = typeof key === 'string' && (parent.keys === 0 || !WRAPPER_KEYS.test(key));
  const path = parent.keys === 0 ? words : `${parent.path}/${words}`;
  const child: TreeNode = {
    pointer: `${parent.pointer}/${pointerToken}`,
    path: isInPath ? path : parent.path,
    keys: parent.keys + (isInPath ? 1 : 0),
    children: null,
    field: null,
    member: parent.keys === 0 ? { fields: 0, nodes: 0 } : parent.member,
  };
  parent.children.set(key, child);
  return child;
}
