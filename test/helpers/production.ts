import { keytrail, type Process } from './process.ts';

/** A gateway in a process of its own, as production runs it: nothing is set that could be left out, unless a case is about it. */
export type Production = Process & {
  /** Where GraphQL is. */
  readonly url: string;
};

/** Starts it over a service, on a free loopback port; with settings where a case is about them. */
export async function startProduction(
  serviceUrl: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<Production> {
  const environment = {
    NODE_ENV: 'production',
    PORT: '0',
    UPSTREAM_URL: serviceUrl,
    ...settings,
  };
  const process = keytrail([], environment);
  const [, url = ''] = await process.until(/(http:\/\/127\.0\.0\.1:\d+\/graphql)/);
  return { ...process, url };
}
