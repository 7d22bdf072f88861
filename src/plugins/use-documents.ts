import type { DocumentNode } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { LRUCache } from 'lru-cache';

/** Parsed, a document takes up to 250 bytes for each of its characters. */
const MAX_CHARACTERS = 65_536;

/** Documents that were asked before, by their texts; for Yoga, so that it need not parse them again. */
export type Documents = {
  get(text: string): DocumentNode | undefined;
  set(text: string, document: DocumentNode): void;
};

/**
 * Holds a few hundred documents, and with them what Yoga keeps for each. Not held is one that may have a secret in it:
 * that has a mutation and a text, or is invalid, whatever it was meant to be. Errors about a document know by their stacks
 * what its caller had sent, so these are kept nowhere.
 */
export function useDocuments(): { readonly documents: Documents; readonly plugin: Plugin } {
  const documents = new LRUCache<string, DocumentNode>({
    maxSize: MAX_CHARACTERS,
    sizeCalculation: (_, text) => Math.max(1, text.length),
  });
  return {
    documents: {
      get: (text) => documents.get(text),
      set: (text, document) => {
        if (!(text.includes('mutation') && text.includes('"'))) documents.set(text, document);
      },
    },
    plugin: {
      onValidate({ params: { documentAST } }) {
        return ({ valid }) => {
          if (!valid) documents.delete(documentAST.loc?.source.body ?? '');
        };
      },
    },
  };
}
