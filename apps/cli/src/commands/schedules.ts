import type { Command } from '../frame/command';
import { exitCodes } from '../frame/failure';
import { inLine } from '../output/plain';
import { ago, statusColor } from '../output/words';
import { scheduleId } from '../parts/find';
import { wholeNumber } from '../parts/numbers';

const list: Command = {
  words: 'schedules list',
  summary: 'What runs by the clock, and when next',
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
      'There is no schedule.',
    );
  },
};

const preview: Command = {
  words: 'schedules preview',
  args: '<schedule>',
  summary: 'When it runs next, with what daylight saving does to it',
  options: { count: { type: 'string', short: 'n', value: 'N', about: 'how many; 10' } },
  async run(call) {
    const muster = call.muster();
    const count = wholeNumber(call.text('count'), 'count', 10);
    const { runs } = await muster.schedules.preview(await scheduleId(muster, call.args[0]!), count);
    call.terminal.table(
      runs,
      [
        { title: 'AT', of: ({ at }) => at },
        { title: 'THERE', of: ({ local }) => local },
        { title: 'SHIFT', of: ({ shift }) => shift },
      ],
      'It does not run any more.',
    );
  },
};

const run: Command = {
  words: 'schedules run',
  args: '<schedule>',
  summary: 'Runs it now, whatever the time',
  async run({ args, muster: of, terminal }) {
    const muster = of();
    const ticks = await muster.schedules.execute({ scheduleId: await scheduleId(muster, args[0]!), force: true });
    const [launched] = ticks.launched;
    const why = ticks.skipped[0]?.reason ?? ticks.failed[0]?.reason ?? 'not_due';
    terminal.show(ticks, launched ? `run ${launched.jobId}` : `It was not run: ${why.replaceAll('_', ' ')}.`);
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
  turn('pause', 'Runs it no more until it is resumed', 'is paused'),
  turn('resume', 'Runs it again from now on', 'runs again'),
];
