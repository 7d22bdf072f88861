import { type KeytrailProcess, startKeytrail } from './process.ts';

/** A gateway in its own process, with production defaults and the settings that a case needs. */
export type Production = KeytrailProcess & {
  /** The GraphQL endpoint. */
  readonly url: string;
};

/** Starts it in front of a service, on a free loopback port. */
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
  const process = startKeytrail([], environment);
  const [, url = ''] = await process.until(/(http:\/\/127\.0\.0\.1:\d+\/graphql)/);
  return { ...process, url };
}
