import { registerHooks } from 'node:module';
import tsconfig from '../../tsconfig.json' with { type: 'json' };

const ROOT = new URL('../..', import.meta.url);
const SOURCES: Readonly<Record<string, readonly string[]>> = tsconfig.compilerOptions.paths;

// Resolves `keytrail/…` to the sources, as the compiler does, so that the examples can be tested without a build.
registerHooks({
  resolve: (specifier, context, resolveNext) => {
    const [source] = SOURCES[specifier] ?? [];
    return resolveNext(source === undefined ? specifier : new URL(source, ROOT).href, context);
  },
});
