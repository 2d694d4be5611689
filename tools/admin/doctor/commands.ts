import { UsageError } from '../admin-error';
import type { Command } from '../command';
import { openInstallation } from '../installation';
import { openBackupLocation } from '../place/open-place';
import { version } from '../version';
import { defaultMinFreePercent, examineInstallation } from './examine-installation';

const text = { type: 'string' } as const;

export const doctorCommands: Record<string, Command> = {
  doctor: {
    usage: '[--data-dir DIR] [--backups PLACE] [--min-free 10%]',
    summary: 'checks an installation and reports what is wrong and what to do',
    about: `Checks the data folder of npm start, or the service that DATABASE_URL, S3_*, MASTER_KEYS and PUBLIC_APP_URL
specify. It writes only one object, which it removes again. The exit code is 1 if it finds a fault. A disk of the data folder
with less free space than --min-free is a fault.`,
    options: { 'data-dir': text, backups: text, 'min-free': text },
    run: async (call) => {
      const dataDir = call.text('data-dir');
      const backups = call.text('backups');
      const minFreePercent = parsePercent(call.text('min-free') ?? `${defaultMinFreePercent}%`);
      const installation = await openInstallation(dataDir, call.environment);
      const place = backups ? openBackupLocation(backups, call.environment) : undefined;
      try {
        const { examined, findings } = await examineInstallation({
          ...installation,
          dataDir,
          minFreePercent,
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

function parsePercent(text: string): number {
  const percent = Number(/^(\d{1,3}(?:\.\d+)?)%$/.exec(text)?.[1] ?? Number.NaN);
  if (percent <= 100) return percent;
  throw new UsageError(`--min-free must be a percentage from 0% to 100%, as in 10%, and not "${text}".`);
}
