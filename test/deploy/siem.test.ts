import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, readFileSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { CronJob } from 'kubernetes-models/batch/v1/CronJob';
import { PersistentVolumeClaim } from 'kubernetes-models/v1/PersistentVolumeClaim';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { parseCommandLine } from '../../src/terminal/command-line.ts';
import { COMMANDS } from '../../src/terminal/commands.ts';
import { readBlocks } from '../docs/markdown.ts';
import { keytrailInProcess } from '../helpers/process.ts';
import { startService } from '../helpers/service.ts';
import { findTypeErrors } from './types.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FILES = join(ROOT, 'deploy/siem');
const read = (name: string) => readFileSync(join(FILES, name), 'utf8');
const BLOCKS = readBlocks(readFileSync(join(ROOT, 'docs/siem.md'), 'utf8'));

const CRON_JOB = read('cronjob.yaml');
/** With the lines of all options. */
const OPTIONAL = CRON_JOB.replace(/^( *)#(?=[^\s#])/gm, '$1');

/** A file that the page shows. */
function shown(name: string): string {
  const block = BLOCKS.find(({ attributes }) => attributes.get('file') === name);
  if (block === undefined) throw new Error(`docs/siem.md does not show ${name}`);
  return block.text;
}

/** A command of the unit, as `sh` gets it. */
function unitCommand(file: string, name: string): string {
  const commands = read(file).matchAll(new RegExp(`^${name}=/bin/sh -c '(.*)'$`, 'gm'));
  return [...commands].at(-1)?.[1] ?? '';
}

const CRON = /^\*\/5 \* \* \* \* keytrail (.*)$/m.exec(shown('keytrail.cron'))?.[1] ?? '';

/** A folder in the place of /etc, /var/lib, /var/log and the PATH of the commands. */
async function createMachine(upstream: string) {
  const folder = await mkdtemp(join(tmpdir(), 'keytrail-siem-'));
  await mkdir(join(folder, 'spool'));
  await writeFile(join(folder, 'secret'), 'demo-admin-secret-5f2c9a71\n');
  const program = `#!/bin/sh\nexec '${process.execPath}' '${ROOT}src/main.ts' "$@"\n`;
  await writeFile(join(folder, 'keytrail'), program);
  await chmod(join(folder, 'keytrail'), 0o755);
  const log = join(folder, 'audit.ndjson');
  const move = (text: string) =>
    text
      .replaceAll(/\/var\/(?:lib|log)\/keytrail/g, folder)
      .replaceAll('/var/spool/rsyslog', join(folder, 'spool'));
  const env = {
    PATH: `${folder}:${process.env['PATH']}`,
    UPSTREAM_URL: upstream,
    CREDENTIALS_DIRECTORY: folder,
  };
  return {
    folder,
    move,
    append: (text: string) => appendFileSync(log, text),
    run: (command: string) => promisify(execFile)('sh', ['-c', move(command)], { env }),
    events: async () =>
      (await readFile(log, 'utf8'))
        .split('\n')
        .flatMap((line) => (line.endsWith('}') ? [JSON.parse(line)] : [])),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

/** What Elasticsearch would keep: the documents by their IDs. */
async function startElasticsearch() {
  const documents = new Map<string, unknown>();
  const sent = { count: 0 };
  const service = await startService(({ url, body }) => {
    if (!url.startsWith('/_bulk')) return { body: 'ok' };
    const lines = body
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const items = lines.flatMap((line, index) => {
      if (index % 2 === 0) return [];
      const { _index, _id } = lines[index - 1].index;
      expect(_index).toBe('keytrail');
      documents.set(_id, line);
      sent.count += 1;
      return [{ index: { status: 201 } }];
    });
    return { body: { errors: false, items } };
  });
  return { ...service, documents, sent };
}

const hasRsyslog = spawnSync('rsyslogd', ['-v']).status === 0;

async function startRsyslog(folder: string, conf: string) {
  const file = join(folder, 'rsyslog.conf');
  await writeFile(file, conf);
  const args = ['-n', '-f', file, '-i', join(folder, 'rsyslog.pid')];
  const child = spawn('rsyslogd', args, { stdio: 'ignore' });
  return {
    [Symbol.asyncDispose]: async () => {
      child.kill();
      await once(child, 'exit');
    },
  };
}

const FORMATS = [
  { output: 'ndjson', keyOf: (event: { key: string }) => event.key },
  { output: 'ecs', keyOf: (event: { event: { hash: string } }) => event.event.hash },
] as const;

describe('the commands of docs/siem.md', () => {
  it.skipIf(!hasRsyslog).each(FORMATS)(
    'export the trail once as $output, and rsyslog sends each event with its key as ID, also after a crash',
    async ({ output, keyOf }) => {
      await using sandbox = keytrailInProcess(['sandbox', '--port', '0']);
      const [, upstream = ''] = await sandbox.until(/UPSTREAM_URL=(\S+)/);
      await using elasticsearch = await startElasticsearch();
      await using machine = await createMachine(upstream);
      const { run, events, move } = machine;
      const as = (text: string) => text.replace('--output ndjson', `--output ${output}`);
      const conf = move(shown('rsyslog.conf'))
        .replace('https://elasticsearch.example.com:9200', elasticsearch.url)
        .replaceAll('$!key', output === 'ecs' ? '$!event!hash' : '$!key');
      await using _rsyslog = await startRsyslog(machine.folder, conf);
      const kept = async () =>
        [...elasticsearch.documents].map(([id, document]) => ({ id, document }));

      await run(unitCommand('keytrail-audit.service', 'ExecStartPre'));
      await run(as(unitCommand('keytrail-audit.service', 'ExecStart')));
      const first = await events();
      expect(first.length).toBeGreaterThan(300);
      await run(as(unitCommand('keytrail-audit.service', 'ExecStart')));
      expect(await events()).toEqual(first);
      await expect.poll(() => elasticsearch.documents.size).toBe(first.length);

      machine.append('{"key":"cut'); // a crash, before which the checkpoint was not saved
      await rm(join(machine.folder, 'checkpoint.json'));
      await run(as(CRON));
      const all = await events();
      expect(all).toHaveLength(2 * first.length);
      await expect.poll(() => elasticsearch.sent.count).toBe(all.length);
      expect(await kept()).toEqual(first.map((document) => ({ id: keyOf(document), document })));
    },
  );

  it('log in for cron as its user, in folders of that user, and cron exports with that session', async () => {
    await using sandbox = keytrailInProcess(['sandbox', '--port', '0']);
    const [, upstream = ''] = await sandbox.until(/UPSTREAM_URL=(\S+)/);
    await using machine = await createMachine(upstream);
    const { folder, run, events } = machine;
    const commands = BLOCKS.find(({ text }) => /^useradd.*\n.*cron/s.test(text))?.text ?? '';
    // What needs root is only written down.
    for (const [name, script] of [
      ['useradd', ''],
      ['install', ''],
      ['runuser', 'shift 3; exec "$@"'],
    ])
      await writeFile(
        join(folder, name ?? ''),
        `#!/bin/sh\necho ${name} "$@" >> '${folder}/done'\n${script}\n`,
        { mode: 0o755 },
      );
    const secret = join(folder, 'secret');
    await run(
      commands
        .replace('https://service.example.com', upstream)
        .replaceAll('/etc/keytrail/secret', secret),
    );
    const done = (await readFile(join(folder, 'done'), 'utf8')).split('\n');
    expect(done.map((line) => line.split(' ')[0])).toEqual([
      ...['useradd', 'install', 'runuser', 'install', ''],
    ]);
    expect(done[1]).toBe(`install -d -o keytrail -g keytrail -m 0750 ${folder} ${folder}`);
    expect(done[2]).toMatch(/^runuser -u keytrail -- /);
    await run(CRON);
    expect((await events()).length).toBeGreaterThan(300);
  });

  it('are valid command lines', () => {
    const commands = [
      CRON,
      unitCommand('keytrail-audit.service', 'ExecStartPre'),
      unitCommand('keytrail-audit.service', 'ExecStart'),
      unitCommand('follow.conf', 'ExecStart'),
    ];
    for (const command of commands) {
      const [, words = ''] = /\bkeytrail ((?:login|audit) .*?) (?:<|>>) /.exec(command) ?? [];
      expect(parseCommandLine(words.split(' ')).problems, command).toEqual([]);
      expect(words).toMatch(/^(?:login|audit) /);
    }
    expect(parseCommandLine(['audit', '--folow']).problems).not.toEqual([]);
  });
});

describe('deploy/siem', () => {
  const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

  it.skipIf(!hasSystemd).each(['without follow.conf', 'with follow.conf'])(
    'has units that systemd accepts, %s',
    async (name) => {
      const folder = await mkdtemp(join(tmpdir(), 'keytrail-units-'));
      try {
        const units = ['keytrail-audit.service', 'keytrail-audit.timer'].map((file) =>
          join(folder, file),
        );
        await cp(FILES, folder, { recursive: true });
        if (name === 'with follow.conf') {
          await mkdir(`${units[0]}.d`);
          await cp(join(FILES, 'follow.conf'), join(`${units[0]}.d`, 'follow.conf'));
        }
        const verify = () =>
          spawnSync('systemd-analyze', ['verify', ...units], { encoding: 'utf8' });
        expect(verify()).toMatchObject({ status: 0, stderr: '' });
        appendFileSync(units[0] ?? '', '[Service]\nStandartOutput=null\n');
        expect(verify().stderr).toContain('StandartOutput');
      } finally {
        await rm(folder, { recursive: true });
      }
    },
  );

  const VARIANTS = [
    { variant: 'as it is', text: CRON_JOB, config: [] },
    { variant: 'with the lines of all options', text: OPTIONAL, config: ['config'] },
  ];

  it.each(VARIANTS)(
    'has a CronJob that matches the Kubernetes schema, with only fields that Kubernetes knows, $variant',
    async ({ text, config }) => {
      const { pod, manifests } = readCronJob(text);
      const lines = manifests.map(({ apiVersion, kind, ...rest }, index) => {
        const value = JSON.stringify({ apiVersion, kind, ...rest });
        return `import type { I${kind} as T${index} } from 'kubernetes-models/${apiVersion}/${kind}';\nexport const m${index}: T${index} = ${value};\n`;
      });
      expect(await findTypeErrors(lines.join(''))).toBe('');
      const [claim] = manifests;
      expect(pod.volumes?.map((volume) => volume.persistentVolumeClaim?.claimName)).toEqual([
        ...[claim?.metadata.name, undefined, ...config.map(() => undefined)],
      ]);
      for (const { volumeMounts = [] } of [...pod.containers, ...(pod.initContainers ?? [])]) {
        const mounted = volumeMounts.filter(({ mountPath }) => mountPath === '/etc/keytrail');
        expect(mounted.map(({ name }) => name)).toEqual(config);
      }
      const secret = pod.volumes?.[1]?.secret?.secretName;
      expect(
        BLOCKS.some(({ text }) => text.includes(`secret generic ${secret} --from-file=secret\n`)),
      ).toBe(true);
    },
  );

  it('has a CronJob that a run which hangs does not stop for ever, and whose memory is limited', () => {
    const { job, pod } = readCronJob();
    const { schedule, concurrencyPolicy, startingDeadlineSeconds = 0, jobTemplate } = job;
    const { activeDeadlineSeconds, backoffLimit } = jobTemplate.spec ?? {};
    expect(schedule).toBe('*/5 * * * *');
    expect(concurrencyPolicy).toBe('Forbid');
    // Kubernetes looks every ten seconds: with less, no run might start.
    expect(startingDeadlineSeconds).toBeGreaterThan(10);
    expect(startingDeadlineSeconds).toBeLessThan(300);
    expect(activeDeadlineSeconds).toBeGreaterThan(600); // a command waits for ten minutes for one request
    expect(backoffLimit).toBe(0);
    for (const { resources } of [...pod.containers, ...(pod.initContainers ?? [])])
      expect(resources?.limits).toMatchObject({ memory: '512Mi' });
  });

  it('has a CronJob that reads the contract, the CA and the headers from a secret', () => {
    const { pod } = readCronJob(OPTIONAL);
    const given = (pod.containers[0]?.env ?? []).slice(1);
    expect(given.map(({ name, value }) => `${name} ${value}`)).toEqual([
      'KEYTRAIL_CONTRACT /etc/keytrail/contract.json',
      'UPSTREAM_CA_FILE /etc/keytrail/ca.pem',
      'UPSTREAM_HEADERS_FILE /etc/keytrail/headers.txt',
    ]);
    const [, name, options = ''] = /secret generic (keytrail-config) (.*)$/m.exec(CRON_JOB) ?? [];
    expect(pod.volumes?.at(-1)?.secret?.secretName).toBe(name);
    const files = given.map(({ value = '' }) => value.replace('/etc/keytrail/', '--from-file='));
    expect(options.split(' ')).toEqual(files);
  });

  it.each(VARIANTS)(
    'has a CronJob with valid command lines and settings, $variant',
    ({ text, config }) => {
      const { pod } = readCronJob(text);
      const [audit] = pod.containers;
      const [login] = pod.initContainers ?? [];
      const words = /main\.js (.*?) < /.exec(login?.command?.at(-1) ?? '')?.[1]?.split(' ') ?? [];
      for (const args of [audit?.args ?? [], words]) {
        const { command, problems, session } = parseCommandLine(args);
        expect(problems).toEqual([]);
        expect(COMMANDS[command ?? 'serve'].settings).toEqual(
          expect.arrayContaining((audit?.env ?? []).map(({ name }) => name)),
        );
        expect(session).toBe('/state/session.json');
      }
      expect(audit?.volumeMounts?.map(({ name }) => name)).toEqual(['state', ...config]);
    },
  );
});

type Manifest = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
};

function readCronJob(text = CRON_JOB) {
  const manifests = parseAllDocuments(text, { strict: true }).map((document): Manifest => {
    expect(document.errors).toEqual([]);
    return document.toJS();
  });
  const [claim, job] = manifests;
  new PersistentVolumeClaim(Object(claim)).validate();
  const model = new CronJob(Object(job));
  model.validate();
  const pod = model.spec?.jobTemplate.spec?.template.spec;
  if (model.spec == null || pod == null) throw new Error('cronjob.yaml has no pod');
  return { manifests, job: model.spec, pod };
}

describe('the configuration of shippers', () => {
  const FILE = '/var/log/keytrail/audit.ndjson';

  it('reads the file that the commands write, and takes the key as ID', () => {
    expect(CRON).toContain(`>> ${FILE}`);
    const vector = parse(shown('vector.yaml'), { strict: true });
    expect(vector.sources.audit.include).toEqual([FILE]);
    expect(vector.sinks.siem).toMatchObject({ inputs: ['event'], id_key: 'key' });
    const fluentBit = parse(shown('fluent-bit.yaml'), { strict: true });
    expect(fluentBit.pipeline.inputs).toMatchObject([
      { path: FILE, parser: fluentBit.parsers[0].name },
    ]);
    expect(fluentBit.pipeline.outputs).toMatchObject([{ name: 'es', id_key: '$key' }]);
    const collector = parse(shown('otel-collector.yaml'), { strict: true });
    const { filelog } = collector.receivers;
    expect(filelog.include).toEqual([FILE]);
    expect(filelog.operators.at(-1)).toMatchObject({ from: 'body.key' });
    expect(collector.service.pipelines.logs).toEqual({
      receivers: Object.keys(collector.receivers),
      exporters: Object.keys(collector.exporters),
    });
  });
});
