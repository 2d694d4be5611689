import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const source = 'k8s/monitoring/alerts.yaml';

/** Returns the chart’s copy of the alerts. A chart cannot read files outside of its own folder. */
export function listChartAlertFiles(root: string): Record<string, () => string> {
  const path = join(root, source);
  if (!existsSync(path)) return {};
  const head = `# A copy of ${source} by tools/deploy/generate.ts: do not edit.\n`;
  return { 'k8s/chart/generated/alerts.yaml': () => head + readFileSync(path, 'utf8') };
}
