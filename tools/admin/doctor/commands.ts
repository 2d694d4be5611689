import type { Command } from '../command';
import { openHouse } from '../house';
import { openPlace } from '../place/open-place';
import { version } from '../version';
import { examine } from './examine';

const text = { type: 'string' } as const;

export const doctorCommands: Record<string, Command> = {
  doctor: {
    usage: '[--data-dir DIR] [--backups PLACE]',
    summary: 'looks at a Muster, and says what is wrong and what to do',
    about: `Of the data folder of npm start, or of the Muster that DATABASE_URL, S3_*, MASTER_KEYS and PUBLIC_APP_URL name. It
writes nothing but one object that it removes again. Exit code 1 where something is at fault.`,
    options: { 'data-dir': text, backups: text },
    run: async (call) => {
      const dataDir = call.text('data-dir');
      const backups = call.text('backups');
      const house = await openHouse(dataDir, call.environment);
      const place = backups ? openPlace(backups, call.environment) : undefined;
      try {
        const { examined, findings } = await examine({
          ...house,
          dataDir,
          version,
          backups: place?.place,
          now: new Date(),
        });
        for (const { level, says } of findings) call.write(`${level}: ${says}`);
        const faults = findings.filter(({ level }) => level === 'fault').length;
        call.write(`Looked at ${examined.join(', ')}: ${faults || 'no'} ${faults === 1 ? 'fault' : 'faults'}.`);
        return faults > 0 ? 1 : 0;
      } finally {
        await place?.close();
        await house.close();
      }
    },
  },
};
