import { keytrail, type Process } from './keytrail.ts';

/** A gateway in a process of its own, as production runs it: nothing is set that could be left out. */
export type Production = Process & {
  /** Where GraphQL is. */
  readonly url: string;
};

/** Starts it over a service, on a free loopback port. */
export async function startProduction(serviceUrl: string): Promise<Production> {
  const environment = { NODE_ENV: 'production', PORT: '0', UPSTREAM_URL: serviceUrl };
  const process = keytrail([], environment);
  const [, url = ''] = await process.until(/(http:\/\/127\.0\.0\.1:\d+\/graphql)/);
  return { ...process, url };
}
