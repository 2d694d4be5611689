import type { Command } from '../command';
import { openInstallation } from '../installation';
import { resumeSchedulesAfterRestore } from './release';

const text = { type: 'string' } as const;

export const releaseCommands: Record<string, Command> = {
  release: {
    usage: '[--data-dir DIR] [--fire-missed]',
    summary: 'ends the recovery hold of a restored service',
    about: `After a restore nothing runs automatically: no machine is started or stopped, no schedule runs, no webhook is
sent. Workers can still report. After the release, runs that were running at the time of the backup end as
lost_in_recovery unless their worker reports them. Schedules that became due since the backup are listed as missed; with
--fire-missed they are handled as their misfire policies specify.`,
    options: { 'data-dir': text, 'fire-missed': { type: 'boolean' } },
    run: async (call) => {
      const installation = await openInstallation(call.text('data-dir'), call.environment);
      const fireMissed = call.flag('fire-missed');
      try {
        const { backup, earlier, missed, underWay } = await resumeSchedulesAfterRestore(installation.databaseUrl, {
          fireMissed,
        });
        if (earlier) {
          call.write(`The service was already released at ${earlier.toISOString()}; nothing was changed.`);
          return;
        }
        for (const { organization, schedule, due } of missed)
          call.write(`missed: ${organization}, ${schedule}, due since ${due.toISOString()}`);
        call.write(
          `Released the service that was restored from the backup ${backup}; runs that were running in it: ${underWay}.`,
        );
        if (missed.length > 0)
          call.write(
            fireMissed
              ? 'The schedules handle the times that they missed as their misfirePolicy specifies.'
              : 'The schedules skip the runs that they missed.',
          );
      } finally {
        await installation.close();
      }
    },
  },
};
