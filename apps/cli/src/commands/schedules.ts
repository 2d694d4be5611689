import type { Command } from '../frame/command';
import { exitCodes } from '../frame/failure';
import { inLine } from '../output/plain';
import { ago, statusColor } from '../output/words';
import { scheduleId } from '../parts/find';
import { wholeNumber } from '../parts/numbers';

const list: Command = {
  words: 'schedules list',
  summary: 'List schedules and when each runs next',
  async run({ muster, terminal }) {
    terminal.table(
      await muster().schedules.list({ limit: 200 }).toArray(),
      [
        { title: 'NAME', of: ({ name }) => name },
        { title: 'CRON', of: ({ cronExpression }) => cronExpression },
        { title: 'ZONE', of: ({ timezone }) => timezone },
        { title: 'NEXT', of: ({ enabled, nextRunAt }) => (enabled ? ago(nextRunAt) : 'paused') },
        { title: 'LAST', of: ({ lastResult }) => lastResult, color: ({ lastResult }) => statusColor(lastResult ?? '') },
        { title: 'ID', of: ({ id }) => id },
      ],
      'There are no schedules.',
    );
  },
};

const preview: Command = {
  words: 'schedules preview',
  args: '<schedule>',
  summary: 'List the next run times of a schedule',
  more:
    'LOCAL TIME is in the time zone of the schedule. DST SHIFT is set if daylight saving time affects a run: ' +
    'gap if the scheduled time does not exist on that day, overlap if it occurs twice.',
  options: { count: { type: 'string', short: 'n', value: 'N', about: 'Number of run times (default 10)' } },
  async run(call) {
    const muster = call.muster();
    const count = wholeNumber(call.text('count'), 'count', 10);
    const { runs } = await muster.schedules.preview(await scheduleId(muster, call.args[0]!), count);
    call.terminal.table(
      runs,
      [
        { title: 'AT', of: ({ at }) => at },
        { title: 'LOCAL TIME', of: ({ local }) => local },
        { title: 'DST SHIFT', of: ({ shift }) => shift },
      ],
      'The schedule has no further run times.',
    );
  },
};

const run: Command = {
  words: 'schedules run',
  args: '<schedule>',
  summary: 'Run a schedule now, even if it is not due',
  async run({ args, muster: of, terminal }) {
    const muster = of();
    const ticks = await muster.schedules.execute({ scheduleId: await scheduleId(muster, args[0]!), force: true });
    const [launched] = ticks.launched;
    const why = ticks.skipped[0]?.reason ?? ticks.failed[0]?.reason ?? 'not_due';
    terminal.show(ticks, launched ? `run ${launched.jobId}` : `The schedule was not run: ${why.replaceAll('_', ' ')}.`);
    return launched ? exitCodes.ok : exitCodes.failed;
  },
};

function turn(verb: 'pause' | 'resume', summary: string, said: string): Command {
  return {
    words: `schedules ${verb}`,
    args: '<schedule>',
    summary,
    async run({ args, muster: of, terminal }) {
      const muster = of();
      const schedule = await muster.schedules[verb](await scheduleId(muster, args[0]!));
      terminal.show(schedule, `${inLine(schedule.name)} ${said}.`);
    },
  };
}

export const scheduleCommands = [
  list,
  preview,
  run,
  turn('pause', 'Pause a schedule', 'is paused'),
  turn('resume', 'Resume a paused schedule', 'is resumed'),
];
