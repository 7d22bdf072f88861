import type { Plugin } from 'graphql-yoga';

/**
 * Writes the payloads of subscriptions in ASCII, with `\u` escapes. Hive Gateway decodes each chunk of a stream on its own
 * (`@graphql-tools/executor-http` 3.4.1): it would replace a character that is split between two of them.
 */
export function useAsciiEvents(): Plugin {
  return {
    onSubscribe: () => ({
      onSubscribeResult: () => ({
        onNext: ({ result, setResult }) => {
          const withStringify = { ...result, stringify }; // Yoga calls it instead of JSON.stringify
          setResult(withStringify);
        },
      }),
    }),
  };
}

/** Serializes a value as JSON of ASCII characters only. */
function stringify(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
