import { registerHooks } from 'node:module';

// Gives the packages that have `graphql` as a peer the copy at OTHER_GRAPHQL, as npm does beside a project's own version.
const { OTHER_GRAPHQL = '' } = process.env;
registerHooks({
  resolve: (specifier, context, resolveNext) => {
    const resolved = resolveNext(specifier, context);
    if (!/\/node_modules\/(?!graphql\/)/.test(context.parentURL ?? '')) return resolved;
    const url = resolved.url.replace(/^.*\/node_modules\/graphql(?=\/)/, OTHER_GRAPHQL);
    return { ...resolved, url };
  },
});
