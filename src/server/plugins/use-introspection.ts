import { NoSchemaIntrospectionCustomRule } from 'graphql';
import type { Plugin } from 'graphql-yoga';

/** Refuses `__schema` and `__type` when it is off; `__typename` works either way. */
export function useIntrospection(isOn: boolean): Plugin {
  return {
    onValidate({ addValidationRule }) {
      if (!isOn) addValidationRule(NoSchemaIntrospectionCustomRule);
    },
  };
}
