import { readdirSync, readFileSync } from 'node:fs';
import { json } from 'node:stream/consumers';

/** A part of a CycloneDX document, as npm writes it. */
type Sbom = {
  readonly components: readonly Component[];
  readonly dependencies: readonly {
    readonly ref: string;
    readonly dependsOn?: readonly string[];
  }[];
};

type Component = {
  readonly 'bom-ref': string;
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
};

/**
 * Removes development dependencies from an SBOM, but not those that are copied into what is published.
 * @param copied Their names and versions, as `name@1.2.3`.
 */
export function keepPublished<Bom extends Sbom>(sbom: Bom, copied: ReadonlySet<string>): Bom {
  const removed = new Set(
    sbom.components
      .filter(({ properties = [] }) =>
        properties.some(({ name, value }) => name.endsWith(':development') && value === 'true'),
      )
      .map((component) => component['bom-ref'])
      .filter((ref) => !copied.has(ref)),
  );
  return {
    ...sbom,
    components: sbom.components.filter((component) => !removed.has(component['bom-ref'])),
    dependencies: sbom.dependencies
      .filter(({ ref }) => !removed.has(ref))
      .map(({ ref, dependsOn = [] }) => ({
        ref,
        dependsOn: dependsOn.filter((each) => !removed.has(each)),
      })),
  };
}

/** The packages of which the source maps in a folder name a file. */
function listCopied(folder: string): readonly string[] {
  const maps = readdirSync(folder).filter((file) => file.endsWith('.map'));
  const sources = maps.flatMap((map): readonly string[] => {
    return JSON.parse(readFileSync(`${folder}/${map}`, 'utf8')).sources;
  });
  const roots = sources.flatMap(
    (source) => /node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+/.exec(source) ?? [],
  );
  return [...new Set(roots)].map((root) => {
    const { name, version } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'));
    return `${name}@${version}`;
  });
}

// npm sbom --sbom-format=cyclonedx | node sbom.ts FOLDER…
if (import.meta.main) {
  const sbom = (await json(process.stdin)) as Sbom; // npm's own
  const copied = new Set(process.argv.slice(2).flatMap(listCopied));
  process.stdout.write(`${JSON.stringify(keepPublished(sbom, copied), null, 2)}\n`);
}
