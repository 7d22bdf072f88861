import { readFileSync } from 'node:fs';
import { buildSchema, isInputObjectType, parse, printSchema, visit } from 'graphql';
import * as graphql15 from 'graphql-15';
import { describe, expect, it } from 'vitest';
import { createSchema } from '../../../src/gateway/create-schema.ts';
import { printClientSchema } from '../../../src/gateway/schema/federation.ts';
import { ask, gatewayOver } from '../../helpers/gateway.ts';

const SUBGRAPH = readFileSync(new URL('../../../schema.graphql', import.meta.url), 'utf8');
const TEXT = printClientSchema(createSchema());

describe('the schema for clients', () => {
  it('has the elements and descriptions of the subgraph, and the definition of @oneOf', () => {
    const subgraph = printSchema(buildSchema(SUBGRAPH, { assumeValidSDL: true }));
    expect(printSchema(buildSchema(TEXT))).toBe(subgraph);
    expect(TEXT).toContain('input LoginCredential @oneOf {');
    expect(TEXT).toMatch(/\n\ndirective @oneOf on INPUT_OBJECT\n$/);
  });

  it('has no name and no directive of federation', () => {
    const names = new Set<string>();
    const directives = new Set<string>();
    visit(parse(TEXT), {
      Directive: ({ name }) => void directives.add(name.value),
      Name: ({ value }) => void names.add(value),
    });
    expect([...names].filter((name) => name.startsWith('_') || name === 'link')).toEqual([]);
    expect([...directives].sort()).toEqual(['oneOf', 'specifiedBy']);
    expect(TEXT).not.toMatch(/^(?:extend )?schema\b/m);
  });

  it('is valid for graphql-js 15, which does not know @oneOf, and newer versions apply it', () => {
    expect(graphql15.validateSchema(graphql15.buildSchema(TEXT))).toEqual([]);
    const credential = buildSchema(TEXT).getType('LoginCredential');
    expect(isInputObjectType(credential) && credential.isOneOf).toBe(true);
  });
});

describe('introspection with the query of graphql-js 15', () => {
  const introspect = async () => {
    await using gateway = gatewayOver('http://127.0.0.1:9');
    const query = graphql15.getIntrospectionQuery({ directiveIsRepeatable: true });
    const { data } = await ask<graphql15.IntrospectionQuery, object>(gateway, query);
    if (data == null) throw new Error('The gateway rejects the query.');
    return data;
  };

  it('gives a valid schema that breaks nothing generated from the schema for clients', async () => {
    const introspected = graphql15.buildClientSchema(await introspect());
    expect(graphql15.validateSchema(introspected)).toEqual([]);
    const printed = graphql15.buildSchema(TEXT);
    expect(graphql15.findBreakingChanges(printed, introspected)).toEqual([]);
  });

  it('has only directive locations that graphql-js 15 knows', async () => {
    const { __schema } = await introspect();
    const locations = __schema.directives.flatMap((directive) => directive.locations);
    expect(locations).toContain('ENUM_VALUE');
    expect(Object.values(graphql15.DirectiveLocation)).toEqual(expect.arrayContaining(locations));
  });
});
