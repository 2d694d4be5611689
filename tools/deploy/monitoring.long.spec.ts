// This test is long because it runs the alert rules in promtool.
// A short test of the same code: tools/deploy/prometheus-rule.spec.ts
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { findPromtool } from '../dev-stack/src/promtool';
import { readText, readYaml, repositoryRoot } from './deployment.harness';

interface Alert {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: Record<'summary' | 'description' | 'runbook', string>;
}
interface AlertTest {
  alert_rule_test: { alertname: string; exp_alerts: object[] }[];
}
interface Panel {
  type: string;
  title: string;
  targets?: { expr: string }[];
}
interface Dashboard {
  uid: string;
  title: string;
  panels: Panel[];
}

const folder = join(repositoryRoot, 'k8s/monitoring');
const alerts = readYaml<{ groups: { rules: (Alert | { record: string })[] }[] }>('k8s/monitoring/alerts.yaml')
  .groups.flatMap(({ rules }) => rules)
  .filter((rule): rule is Alert => 'alert' in rule);
const dashboards = readdirSync(join(folder, 'dashboards')).map((name) => ({
  name,
  ...(JSON.parse(readText(`k8s/monitoring/dashboards/${name}`)) as Dashboard),
}));

/**
 * Path of promtool from PATH or the cache, into which it may be downloaded; otherwise the reasons why it is missing.
 */
const promtool = findPromtoolSync();
const itChecks = typeof promtool === 'string' ? it : it.skip;
const without = typeof promtool === 'string' ? '' : ` (skipped, promtool is missing: ${promtool.join('; ')})`;

describe('the alerts', () => {
  itChecks(`the alerts are valid rules for Prometheus${without}`, () => {
    expect(runPromtool('check', 'rules', 'alerts.yaml')).toMatchObject({
      status: 0,
      output: expect.stringContaining('SUCCESS'),
    });
  });

  itChecks(`the alerts fire exactly when alerts.test.yaml expects them${without}`, () => {
    expect(runPromtool('test', 'rules', 'alerts.test.yaml')).toMatchObject({
      status: 0,
      output: expect.stringContaining('SUCCESS'),
    });
  });

  it.each(alerts.map(({ alert }) => alert))(
    'the alert %s has a test in which it fires and one in which it does not',
    (name) => {
      const { tests } = readYaml<{ tests: AlertTest[] }>('k8s/monitoring/alerts.test.yaml');
      const expected = tests
        .flatMap((test) => test.alert_rule_test)
        .filter(({ alertname }) => alertname === name)
        .map(({ exp_alerts: coming }) => coming.length > 0);
      expect(new Set(expected)).toEqual(new Set([true, false]));
    },
  );

  it.each(alerts)(
    'the alert $alert has a severity, a summary and a runbook entry',
    ({ alert, labels, annotations }) => {
      expect(['info', 'warning', 'critical']).toContain(labels.severity);
      expect(annotations.summary).toMatch(/\.$/);
      expect(annotations.runbook).toBe(`k8s/monitoring/runbook.md#${alert.toLowerCase()}`);
      const entry = readText('k8s/monitoring/runbook.md')
        .split(/^## /m)
        .find((text) => text.startsWith(`${alert}\n`));
      expect(entry).toMatch(/\*\*Means:\*\* \S[\s\S]*\*\*Do:\*\* \S/);
    },
  );

  it('the alerts have one runbook entry each, in the same order', () => {
    const entries = [...readText('k8s/monitoring/runbook.md').matchAll(/^## (\w+)$/gm)].map(([, name]) => name);
    expect(entries).toEqual(alerts.map(({ alert }) => alert));
  });

  it('the alerts are a part of the chart', () => {
    expect(readText('k8s/chart/templates/prometheusrule.yaml')).toContain('.Files.Get "generated/alerts.yaml"');
  });
});

describe('the dashboards', () => {
  it('each of the four dashboards has its own uid', () => {
    expect(dashboards.map(({ name }) => name)).toEqual([
      'dispatch.json',
      'machines.json',
      'money.json',
      'overview.json',
    ]);
    expect(new Set(dashboards.map(({ uid }) => uid)).size).toBe(4);
  });

  itChecks.each(dashboards)(`the dashboard $title has only valid queries${without}`, ({ panels }) => {
    const queries = panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr })));
    expect(queries.length).toBeGreaterThan(5);
    // The queries are written as recording rules, so that promtool parses them.
    const rules = queries.map(({ expr }, at) => `  - record: panel:p${at}\n    expr: ${JSON.stringify(expr)}\n`);
    const file = join(mkdtempSync(join(tmpdir(), 'muster-panels-')), 'panels.yaml');
    writeFileSync(file, `groups:\n- name: panels\n  rules:\n${rules.join('')}`);
    const { status, output } = runPromtool('check', 'rules', file);
    rmSync(dirname(file), { recursive: true });
    expect({ status, output }).toMatchObject({ status: 0, output: expect.stringContaining('SUCCESS') });
  });
});

function runPromtool(...args: string[]): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(promtool as string, args, { cwd: folder, encoding: 'utf8' });
  return { status, output: stdout + stderr };
}

/** Runs synchronously in a separate process, because skipped tests must be known before the first test starts. */
function findPromtoolSync(): Awaited<ReturnType<typeof findPromtool>> {
  const program = `require(${JSON.stringify(join(repositoryRoot, 'dist/tools/dev-stack/src/promtool.js'))})
    .findPromtool({ dataDir: ${JSON.stringify(join(tmpdir(), 'muster-promtool'))}, env: process.env, onProgress: () => undefined })
    .then((found) => console.log(JSON.stringify(found)))`;
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', program], { encoding: 'utf8', timeout: 180_000 });
  try {
    return JSON.parse(stdout) as string | string[];
  } catch {
    return [stderr.trim().split('\n').at(-1) ?? 'the search for it failed'];
  }
}
