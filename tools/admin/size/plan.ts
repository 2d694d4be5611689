import { type ServiceApp, serviceApps } from '@muster/contracts';
import { type Demand, computeDemand, type Load, computeRates, sumValues, computeWork } from './demand';
import { type Part, parts, type SizingFigures } from './figures';

/** Numbers of replicas in the chart's values. A spec compares them. */
export const replicas: Record<ServiceApp, { min: number; max: number }> = {
  gateway: { min: 2, max: 10 },
  ingest: { min: 2, max: 10 },
  dispatcher: { min: 2, max: 8 },
  scheduler: { min: 2, max: 4 },
  metering: { min: 2, max: 6 },
  'feedback-sync': { min: 1, max: 4 },
};

/** Share of a core that a part uses at most in the busiest hour: the target of the chart's autoscaler. */
export const fullAt = 0.7;
/** A pool of 10 connections and one that receives notifications (DATABASE_POOL_SIZE). */
const connectionsPerProcess = 11;
/** Connections that Postgres reserves for superusers. */
const reservedConnections = 3;
/** Share of the disk that must be free according to `muster-admin doctor`. */
const freeDisk = 0.1;
const daysPerYear = 365;

export interface Plan {
  demand: Demand;
  processes: Record<ServiceApp, number>;
  connections: number;
  /** Whole cores to provide for Postgres. */
  postgresCores: number;
  diskBytes: number;
  /** Growth by each further year of runs. Runs and their steps have no retention, in contrast to the timeline. */
  diskBytesPerYear: number;
  /** How many times this load each part can process with this plan, the smallest first. */
  limits: { part: Part; timesThisLoad: number }[];
  /** Apps that need more processes than the chart's maximum. */
  overMaximum: ServiceApp[];
}

/** Computes what to provide for a load. */
export function computePlan(load: Load, figures: SizingFigures): Plan {
  const { cpuMs } = figures;
  const { permanentOfRun, permanentOfStep } = figures.diskBytes;
  const rates = computeRates(load);
  // A process uses one core at most, part of it for its own loops.
  const processes = mapApps((app) => {
    const perProcess = fullAt - cpuMs.idleSecond[app] / 1000;
    return Math.max(replicas[app].min, Math.ceil(computeWork(app, rates, cpuMs) / perProcess));
  });
  // A rollout starts one more process of each app before it stops an old one.
  const connections = (sumValues(processes) + serviceApps.length) * connectionsPerProcess + reservedConnections;
  const demand = computeDemand(load, processes, connections, figures);
  const postgresCores = Math.ceil(demand.cores.postgres / fullAt);
  const getCapacity = (part: Part) => {
    const idle = cpuMs.idleSecond[part] / 1000;
    // Redis executes commands on one core.
    if (part === 'redis' || part === 'postgres') return (part === 'redis' ? 1 : postgresCores) * fullAt - idle;
    return Math.max(processes[part], replicas[part].max) * (fullAt - idle);
  };
  const limits = parts
    .map((part) => ({ part, timesThisLoad: getCapacity(part) / computeWork(part, rates, cpuMs) }))
    .filter(({ timesThisLoad }) => Number.isFinite(timesThisLoad))
    .toSorted((a, b) => a.timesThisLoad - b.timesThisLoad);
  return {
    demand,
    processes,
    connections,
    postgresCores,
    diskBytes: sumValues(demand.diskBytes) / (1 - freeDisk),
    diskBytesPerYear: load.runsPerDay * daysPerYear * (permanentOfRun + load.stepsPerRun * permanentOfStep),
    limits,
    overMaximum: serviceApps.filter((app) => processes[app] > replicas[app].max),
  };
}

function mapApps(value: (app: ServiceApp) => number): Record<ServiceApp, number> {
  return Object.fromEntries(serviceApps.map((app) => [app, value(app)])) as Record<ServiceApp, number>;
}
