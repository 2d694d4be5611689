import type { Command } from '../command';
import { openInstallation } from '../installation';
import { openPlace } from '../place/open-place';
import { version } from '../version';
import { examine } from './examine';

const text = { type: 'string' } as const;

export const doctorCommands: Record<string, Command> = {
  doctor: {
    usage: '[--data-dir DIR] [--backups PLACE]',
    summary: 'checks an installation and reports what is wrong and what to do',
    about: `Checks the data folder of npm start, or the service that DATABASE_URL, S3_*, MASTER_KEYS and PUBLIC_APP_URL
specify. It writes only one object, which it removes again. The exit code is 1 if it finds a fault.`,
    options: { 'data-dir': text, backups: text },
    run: async (call) => {
      const dataDir = call.text('data-dir');
      const backups = call.text('backups');
      const installation = await openInstallation(dataDir, call.environment);
      const place = backups ? openPlace(backups, call.environment) : undefined;
      try {
        const { examined, findings } = await examine({
          ...installation,
          dataDir,
          version,
          backups: place?.place,
          now: new Date(),
        });
        for (const { level, message } of findings) call.write(`${level}: ${message}`);
        const faults = findings.filter(({ level }) => level === 'fault').length;
        call.write(`Checked ${examined.join(', ')}: ${faults || 'no'} ${faults === 1 ? 'fault' : 'faults'}.`);
        return faults > 0 ? 1 : 0;
      } finally {
        await place?.close();
        await installation.close();
      }
    },
  },
};
