import type { Command } from '../command';
import { openHouse } from '../house';
import { release } from './release';

const text = { type: 'string' } as const;

export const releaseCommands: Record<string, Command> = {
  release: {
    usage: '[--data-dir DIR] [--fire-missed]',
    summary: 'lets a restored Muster act again',
    about: `After a restore the service waits: it starts or stops no machine, runs no schedule and sends no webhook. Workers can
report. After the release, runs that were in progress in the backup end as lost_in_recovery unless their worker reports them.
The times that were due since the backup are listed as missed; with --fire-missed, schedules follow their misfire policies for
these times.`,
    options: { 'data-dir': text, 'fire-missed': { type: 'boolean' } },
    run: async (call) => {
      const house = await openHouse(call.text('data-dir'), call.environment);
      const fireMissed = call.flag('fire-missed');
      try {
        const { backup, missed, underWay } = await release(house.databaseUrl, { fireMissed });
        for (const { organization, schedule, due } of missed)
          call.write(`missed: ${organization}, ${schedule}, due since ${due.toISOString()}`);
        call.write(`Released the restored backup ${backup}; runs that were in progress in it: ${underWay}.`);
        if (missed.length > 0)
          call.write(
            fireMissed ? 'The schedules follow their misfire policies.' : 'The schedules skip the missed times.',
          );
      } finally {
        await house.close();
      }
    },
  },
};
