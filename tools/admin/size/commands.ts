import { UsageError } from '../admin-error';
import type { Call, Command } from '../command';
import type { Load } from './demand';
import { describeSizing } from './describe-sizing';
import { readFigures } from './figures';
import { computePlan } from './plan';

const text = { type: 'string' } as const;

/** The options that describe a load, and their defaults. Those without a default are required. */
const options = {
  agents: undefined,
  'runs-per-day': undefined,
  'log-lines-per-run': undefined,
  'retention-days': undefined,
  'steps-per-run': 10,
  peak: 3,
};

export const sizeCommands: Record<string, Command> = {
  size: {
    usage:
      '--agents N --runs-per-day N --log-lines-per-run N --retention-days N [--steps-per-run 10] [--peak 3] [--json]',
    summary: 'computes the processes, connections, cores, memory and disk that a load needs',
    about: `Needs no installation. Every figure is a product of the load and of a cost that npm run bench sizing has measured
(k8s/sizing.json). --peak is the ratio of the runs of the busiest hour to the average of all hours; cores and processes are
computed for the busiest hour. The output ends with the part that becomes too small first if the load grows.`,
    options: {
      ...Object.fromEntries(Object.keys(options).map((name) => [name, text])),
      json: { type: 'boolean' },
    },
    run: async (call) => {
      const load = parseLoad(call);
      const figures = readFigures();
      const plan = computePlan(load, figures);
      if (!call.flag('json')) {
        for (const line of describeSizing(load, plan, figures)) call.write(line);
        return;
      }
      const { demand, connections, diskBytes, processes, postgresCores, diskBytesPerYear, limits } = plan;
      const { cores, memoryBytes } = demand;
      const answer = {
        process: Object.values(processes).reduce((sum, count) => sum + count, 0),
        connection: connections,
        cpu: cores.postgres,
        memory: Math.round(memoryBytes.postgres),
        disk: Math.round(diskBytes),
        redisMemory: Math.round(memoryBytes.redis),
        appMemory: Math.round(memoryBytes.apps),
        units: 'cpu is in cores of Postgres in the busiest hour; memory, disk, redisMemory and appMemory are in bytes',
        processes,
        postgresCores,
        diskPerFurtherYear: Math.round(diskBytesPerYear),
        cores,
        firstTooSmall: limits[0] ?? null,
        load,
        figures,
      };
      call.write(JSON.stringify(answer, null, 2));
    },
  },
};

function parseLoad(call: Call): Load {
  const parseOption = (name: keyof typeof options, minimum: number) => {
    const entered = call.text(name) ?? options[name]?.toString();
    if (entered === undefined) throw new UsageError(`--${name} is missing.`);
    // A peak may have decimal places; the other options are counts.
    const isNumber = (name === 'peak' ? /^\d{1,12}(\.\d+)?$/ : /^\d{1,12}$/).test(entered);
    if (isNumber && Number(entered) >= minimum) return Number(entered);
    throw new UsageError(
      `--${name} must be a ${name === 'peak' ? 'number' : 'whole number'} of at least ${minimum}, and not "${entered}".`,
    );
  };
  return {
    agents: parseOption('agents', 0),
    runsPerDay: parseOption('runs-per-day', 0),
    logLinesPerRun: parseOption('log-lines-per-run', 0),
    retentionDays: parseOption('retention-days', 1),
    stepsPerRun: parseOption('steps-per-run', 0),
    peak: parseOption('peak', 1),
  };
}
