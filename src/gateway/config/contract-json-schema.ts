import { z } from 'zod';
import { CONTRACT, type EntryTable } from '../mapping/contract.ts';
import { contractSchema } from './contract-schema.ts';

/** A JSON Schema, as far as it is used here. */
type JsonSchema = {
  description?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
};

/** Creates the JSON Schema of a contract file (draft 7, which editors know). It cannot check zones and patterns. */
export function createContractJsonSchema(): object {
  const schema = z.toJSONSchema(contractSchema, { target: 'draft-7' });
  addDescriptions(schema as JsonSchema, CONTRACT); // its properties are objects, not booleans
  return { ...schema, title: 'A contract of Keytrail' };
}

function addDescriptions(
  { properties = {} }: JsonSchema,
  table: Readonly<Record<string, EntryTable>>,
): void {
  for (const [name, entry] of Object.entries(table)) {
    const schema = properties[name];
    if (schema === undefined) continue;
    schema.description = entry.description;
    if ('entries' in entry) addDescriptions(schema, entry.entries);
  }
}
