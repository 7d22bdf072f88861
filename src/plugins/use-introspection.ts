import { NoSchemaIntrospectionCustomRule } from 'graphql';
import type { Plugin } from 'graphql-yoga';

/** Rejects `__schema` and `__type` unless introspection is enabled. `__typename` always works. */
export function useIntrospection(isEnabled: boolean): Plugin {
  return {
    onValidate({ addValidationRule }) {
      if (!isEnabled) addValidationRule(NoSchemaIntrospectionCustomRule);
    },
  };
}
