/** The URL of Keytrail and the credentials. The defaults work with `npm start` and its sandbox. */
export const url = process.env['KEYTRAIL_URL'] ?? 'http://127.0.0.1:4000/graphql';
export const clientId = process.env['CLIENT_ID'] ?? 'demo-admin';
export const clientSecret = process.env['CLIENT_SECRET'] ?? 'demo-admin-secret-5f2c9a71';

/** Ends the process with one sentence instead of a stack if the example fails. */
export function reportFailure(): void {
  process.on('uncaughtException', ({ name, message }) => {
    const isKeytrail =
      name !== 'SyntaxError' && !/fetch failed|could not be reached|not GraphQL/.test(message);
    const sentence = `Keytrail does not respond at ${url}: start it with npm start, or correct KEYTRAIL_URL.`;
    console.error(isKeytrail ? message : sentence);
    process.exit(1);
  });
}
