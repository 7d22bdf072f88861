import { describe, expect, it } from 'vitest';
import { samplesOf } from './shapes.ts';

const samples = ['audit', 'login', 'delete', 'error'].flatMap((kind) =>
  samplesOf(kind).map((sample) => ({ ...sample, id: `${kind}/${sample.name}` })),
);

/** Returns `sample: value` for each match in what a sample says that a service sent. */
function found(pattern: RegExp): readonly string[] {
  return samples.flatMap(({ id, response, expect: { values } }) => {
    const texts = JSON.stringify([response.headers, response.body, values]);
    return [...texts.matchAll(pattern)].map(([text]) => `${id}: ${text}`);
  });
}

describe('the samples of responses', () => {
  it('have a vendor, a source, and say whether they are verified', () => {
    expect(samples.length).toBeGreaterThan(0);
    const isText = (value: unknown) => typeof value === 'string' && value.trim() !== '';
    const incomplete = samples.filter(
      ({ vendor, source, verified }) =>
        !isText(vendor) || !isText(source) || typeof verified !== 'boolean',
    );
    expect(incomplete.map(({ id }) => id)).toEqual([]);
  });

  it('spell each vendor in one way', () => {
    const vendors = [...new Set(samples.map(({ vendor }) => vendor))];
    const letters = vendors.map((vendor) => vendor.toLowerCase().replace(/[^a-z0-9]/g, ''));
    expect(new Set(letters).size).toBe(vendors.length);
  });

  it('have e-mail addresses and hosts of examples', () => {
    const reserved = String.raw`(?:[\w-]+\.)*(?:example(?:\.(?:com|net|org))?|test|invalid)(?![\w.-]*\w)`;
    expect(
      found(new RegExp(String.raw`[\w.+-]+@(?!${reserved}|OData\.)[\w-]+\.[\w.-]+`, 'g')),
    ).toEqual([]);
    expect(found(new RegExp(String.raw`https?:\/\/(?!${reserved})[\w-]+\.[\w.-]+`, 'g'))).toEqual([
      // The name of a claim.
      'audit/azure_activity: http://schemas.microsoft.com',
    ]);
  });

  it('have IP addresses of examples and of private networks', () => {
    const allowed =
      /(?<=: )(?:192\.0\.2|198\.51\.100|203\.0\.113|10|127|192\.168|172\.(?:1[6-9]|2\d|3[01]))\./;
    const v4 = /(?<![\d./]|[a-z]\/)(?:\d{1,3}\.){3}\d{1,3}(?![\d.])/gi;
    expect(found(v4).filter((one) => !allowed.test(one))).toEqual([
      // The version of a browser.
      'audit/jumpcloud: 109.0.0.0',
    ]);
    const v6 = /(?<![\w:])(?:(?:[\da-f]{1,4}:){7}[\da-f]{1,4}|[\da-f:]+::[\da-f:]*)(?!\w)/gi;
    expect(found(v6).filter((one) => !/: (?:2001:db8:|0:0:0:0:0:0:0:1$)/i.test(one))).toEqual([]);
  });

  it('have UUIDs that are zeros, or have the middle of an invented one', () => {
    const uuid = /(?<![\da-f-])[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}(?![\da-f-])/gi;
    const invented = /-1f2e-4a3b-9c4d-|: 0{8}-0000-0000-0000-/;
    expect(found(uuid).filter((one) => !invented.test(one))).toEqual([]);
  });
});
