import type { Command } from '../command';
import { openHouse } from '../house';
import { release } from './release';

const text = { type: 'string' } as const;

export const releaseCommands: Record<string, Command> = {
  release: {
    usage: '[--data-dir DIR] [--fire-missed]',
    summary: 'lets a Muster that was restored act again',
    about: `After a restore nothing acts by itself: no machine is started or stopped, no schedule runs, no webhook is sent.
Workers may report meanwhile. Released, runs that the backup believes under way end as lost_in_recovery unless their
worker reports them, and due times since the backup are listed as missed; --fire-missed has schedules make up for them
as their misfire policies say.`,
    options: { 'data-dir': text, 'fire-missed': { type: 'boolean' } },
    run: async (call) => {
      const house = await openHouse(call.text('data-dir'), call.environment);
      const fireMissed = call.flag('fire-missed');
      try {
        const { backup, missed, underWay } = await release(house.databaseUrl, { fireMissed });
        for (const { organization, schedule, due } of missed)
          call.write(`missed: ${organization}, ${schedule}, due since ${due.toISOString()}`);
        call.write(`Released from the backup ${backup}; runs that were under way in it: ${underWay}.`);
        if (missed.length > 0)
          call.write(
            fireMissed ? 'The schedules run as their misfire policies say.' : 'The schedules skip what they missed.',
          );
      } finally {
        await house.close();
      }
    },
  },
};
