import type { Command } from '../frame/command';
import { createUsageError } from '../frame/failure';
import { formatDuration, formatUsd } from '../output/words';

const groupings = ['day', 'workflow', 'agent', 'model', 'schedule'] as const;

const costs: Command = {
  words: 'costs',
  summary: 'Show the cost of runs',
  options: {
    from: { type: 'string', value: 'DATE', about: 'First day, such as 2026-01-31 (default 29 days before --to)' },
    to: { type: 'string', value: 'DATE', about: 'Last day (default today)' },
    by: { type: 'string', value: 'GROUP', about: `Grouping: ${groupings.join(', ')} (default day)` },
    csv: { type: 'boolean', about: 'Print CSV' },
  },
  async runCommand(call) {
    const muster = call.muster();
    const groupBy = groupings.find((each) => each === (call.text('by') ?? 'day'));
    if (!groupBy) throw createUsageError(`--by must be one of ${groupings.join(', ')}.`);
    const [from, to] = [call.text('from'), call.text('to')];
    const query = { groupBy, ...(from ? { from } : {}), ...(to ? { to } : {}) };
    if (call.flag('csv')) return call.terminal.printLine((await muster.costs.export(query)).trimEnd());
    const found = await muster.costs.get(query);
    if (call.terminal.json) return call.terminal.printResult(found, '');
    call.terminal.printTable(
      found.groups,
      [
        { title: groupBy.toUpperCase(), cell: ({ label }) => label },
        { title: 'RUNS', cell: ({ runs }) => runs },
        { title: 'AI', cell: ({ aiUsd }) => formatUsd(aiUsd) },
        { title: 'COMPUTE', cell: ({ computeUsd }) => formatUsd(computeUsd) },
        { title: 'TOTAL', cell: ({ totalUsd }) => formatUsd(totalUsd) },
      ],
      'There are no runs in this period.',
    );
    call.terminal.printMessage(`${formatUsd(found.totalUsd)} from ${found.from} to ${found.to}`);
  },
};

const usage: Command = {
  words: 'usage',
  summary: 'Show usage and limits of a month',
  options: { month: { type: 'string', value: 'YYYY-MM', about: 'Month (default the current month)' } },
  async runCommand(call) {
    const found = await call.muster().usage.get(call.text('month'));
    const { limits } = found;
    const formatOfLimit = (limit: number | null, unit = '') => (limit === null ? '' : ` of ${unit}${limit}`);
    call.terminal.printFields(found, [
      ['month', found.month],
      ['runs', `${found.runs}${formatOfLimit(limits.monthlyRunLimit)}`],
      ['completed', found.completed],
      ['failed', found.failed],
      ['cancelled', found.cancelled],
      ['run time', formatDuration(found.runMinutes * 60_000)],
      ['spent', `${formatUsd(found.spendUsd)}${formatOfLimit(limits.monthlySpendLimitUsd, '$')}`],
      ['can launch runs', found.canLaunchRuns ? 'yes' : `no: ${found.reason}`],
    ]);
  },
};

export const moneyCommands = [costs, usage];
