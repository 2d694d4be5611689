import { parse } from 'yaml';
import { readText, readYaml } from './deployment.harness';

interface Rule {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels: Record<string, string> };
  spec: { groups: object[] };
}

const chart = readYaml<{ name: string; version: string; appVersion: string }>('k8s/chart/Chart.yaml');
const template = readText('k8s/chart/templates/prometheusrule.yaml');
const helpers = readText('k8s/chart/templates/_helpers.tpl');

/**
 * Renders the template without Helm: this file lists the result of each action, and an unknown action fails the test.
 */
describe('the chart’s PrometheusRule', () => {
  it('the chart’s PrometheusRule is created only if it is enabled, and contains every alert unchanged', () => {
    expect(renderRule({ enabled: false, labels: {} }).trim()).toBe('');
    const rule = parse(renderRule({ enabled: true, labels: {} })) as Rule;
    expect(rule).toMatchObject({ apiVersion: 'monitoring.coreos.com/v1', kind: 'PrometheusRule' });
    expect(rule.metadata).toEqual({
      name: 'here',
      labels: {
        'app.kubernetes.io/name': 'muster',
        'app.kubernetes.io/instance': 'here',
        'app.kubernetes.io/component': 'prometheusrule',
        'app.kubernetes.io/version': String(chart.appVersion),
        'app.kubernetes.io/managed-by': 'Helm',
        'helm.sh/chart': `muster-${chart.version}`,
      },
    });
    const alerts = readYaml<{ groups: object[] }>('k8s/monitoring/alerts.yaml');
    expect(rule.spec).toEqual(alerts);
    expect(JSON.stringify(rule.spec)).toContain('{{ $labels.what }}');
  });

  it('the chart’s PrometheusRule has the configured labels, by which a Prometheus selects rules', () => {
    const { metadata } = parse(renderRule({ enabled: true, labels: { release: 'prometheus', tier: 'one' } })) as Rule;
    expect(metadata.labels).toMatchObject({ release: 'prometheus', tier: 'one', 'app.kubernetes.io/name': 'muster' });
  });

  it('the chart’s PrometheusRule reads a file that is a part of the chart', () => {
    const [, path] = /\.Files\.Get "([^"]+)"/.exec(template)!;
    expect(readText(`k8s/chart/${path!}`)).toContain('groups:');
    const ignored = readText('k8s/chart/.helmignore').split('\n').filter(Boolean);
    expect(ignored.filter((pattern) => path!.startsWith(pattern) || pattern === '*.yaml')).toEqual([]);
  });
});

interface RuleValues {
  enabled: boolean;
  labels: Record<string, string>;
}

function renderRule(values: RuleValues): string {
  return renderTemplate(template, {
    'if .Values.prometheusRule.enabled': values.enabled,
    'with .Values.prometheusRule.labels': Object.keys(values.labels).length > 0,
    '.Release.Name': 'here',
    'include "muster.labels" (dict "root" . "app" "prometheusrule") | nindent 4': indentText(
      4,
      renderHelper('muster.labels'),
    ),
    'toYaml . | nindent 4': indentText(
      4,
      Object.entries(values.labels)
        .map(([name, value]) => `${name}: ${value}`)
        .join('\n'),
    ),
    '.Files.Get "generated/alerts.yaml" | nindent 2': indentText(2, readText('k8s/chart/generated/alerts.yaml')),
  });
}

function renderHelper(name: string): string {
  const [, body] = new RegExp(`{{- define "${name}" -}}([^]*?){{- end -}}`).exec(helpers)!;
  return renderTemplate(body!, {
    '.root.Chart.Name': chart.name,
    '.root.Release.Name': 'here',
    '.root.Release.Service': 'Helm',
    '.app': 'prometheusrule',
    '.root.Chart.AppVersion | quote': `"${chart.appVersion}"`,
    'printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_"': `${chart.name}-${chart.version}`,
    ...(name === 'muster.labels' ? { 'include "muster.selectorLabels" .': renderHelper('muster.selectorLabels') } : {}),
  }).trim();
}

/**
 * Renders a template. A dash removes the white space on its side; a false condition removes everything up to its end.
 */
function renderTemplate(text: string, actions: Record<string, string | boolean>): string {
  const parts = text.split(/(\s*{{-.*?}}|{{.*?}})/);
  const open: boolean[] = [];
  let written = '';
  let eats = false;
  for (const part of parts) {
    const [, action, after] = /^\s*{{-?\s*(.*?)\s*(-?)}}$/.exec(part) ?? [];
    const isShown = open.every(Boolean);
    if (action === undefined) {
      if (isShown) written += eats ? part.trimStart() : part;
      eats = false;
      continue;
    }
    eats = after === '-';
    if (action === 'end') open.pop();
    else if (!(action in actions)) throw new Error(`this spec has no result for the action {{ ${action} }}; add one`);
    else if (typeof actions[action] === 'boolean') open.push(actions[action]);
    else if (isShown) written += actions[action];
  }
  return written;
}

function indentText(width: number, text: string): string {
  return `\n${text.replace(/^/gm, ' '.repeat(width))}`;
}
