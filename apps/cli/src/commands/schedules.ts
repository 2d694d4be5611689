import type { Command } from '../frame/command';
import { exitCodes } from '../frame/failure';
import { toSafeLine } from '../output/plain';
import { formatRelativeTime, getStatusColor } from '../output/words';
import { findScheduleId } from '../parts/find';
import { parseWholeNumber } from '../parts/numbers';

const list: Command = {
  words: 'schedules list',
  summary: 'List schedules and when each runs next',
  async runCommand({ muster, terminal }) {
    terminal.printTable(
      await muster().schedules.list({ limit: 200 }).toArray(),
      [
        { title: 'NAME', cell: ({ name }) => name },
        { title: 'CRON', cell: ({ cronExpression }) => cronExpression },
        { title: 'ZONE', cell: ({ timezone }) => timezone },
        { title: 'NEXT', cell: ({ enabled, nextRunAt }) => (enabled ? formatRelativeTime(nextRunAt) : 'paused') },
        {
          title: 'LAST',
          cell: ({ lastResult }) => lastResult,
          color: ({ lastResult }) => getStatusColor(lastResult ?? ''),
        },
        { title: 'ID', cell: ({ id }) => id },
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
  async runCommand(call) {
    const muster = call.muster();
    const count = parseWholeNumber(call.text('count'), 'count', 10);
    const { runs } = await muster.schedules.preview(await findScheduleId(muster, call.args[0]!), count);
    call.terminal.printTable(
      runs,
      [
        { title: 'AT', cell: ({ at }) => at },
        { title: 'LOCAL TIME', cell: ({ local }) => local },
        { title: 'DST SHIFT', cell: ({ shift }) => shift },
      ],
      'The schedule has no further run times.',
    );
  },
};

const run: Command = {
  words: 'schedules run',
  args: '<schedule>',
  summary: 'Run a schedule now, even if it is not due',
  async runCommand({ args, muster: openClient, terminal }) {
    const muster = openClient();
    const ticks = await muster.schedules.execute({ scheduleId: await findScheduleId(muster, args[0]!), force: true });
    const [launched] = ticks.launched;
    const why = ticks.skipped[0]?.reason ?? ticks.failed[0]?.reason ?? 'not_due';
    terminal.printResult(
      ticks,
      launched ? `run ${launched.jobId}` : `The schedule was not run: ${why.replaceAll('_', ' ')}.`,
    );
    return launched ? exitCodes.ok : exitCodes.failed;
  },
};

function createPauseOrResumeCommand(verb: 'pause' | 'resume', summary: string, pastTense: string): Command {
  return {
    words: `schedules ${verb}`,
    args: '<schedule>',
    summary,
    async runCommand({ args, muster: openClient, terminal }) {
      const muster = openClient();
      const schedule = await muster.schedules[verb](await findScheduleId(muster, args[0]!));
      terminal.printResult(schedule, `${toSafeLine(schedule.name)} ${pastTense}.`);
    },
  };
}

export const scheduleCommands = [
  list,
  preview,
  run,
  createPauseOrResumeCommand('pause', 'Pause a schedule', 'is paused'),
  createPauseOrResumeCommand('resume', 'Resume a paused schedule', 'is resumed'),
];
