import { Inject, Injectable } from '@nestjs/common';
import {
  MachinesConfig,
  failSilentAgents,
  learnIdleHabits,
  MachineControl,
  Reaper,
  ReaperConfig,
  stopIdleAgents,
} from '@muster/machines';
import { CommandDelivery, CommandsConfig, endCommandsOfTerminated, failOverdueCommands } from '@muster/commands';
import { enqueueDueAnalyses, sweepSessions } from '@muster/assistant';
import { Database } from '@muster/database';
import {
  Dispatch,
  DispatchConfig,
  escalateCancels,
  enqueueJobsWithFreeAccounts,
  failRunsOverBudget,
  sweepDispatch,
  sweepPlacements,
} from '@muster/jobs';
import { AppLoops, Clock, LoopLedger, Metrics, PubSub } from '@muster/platform';
import { findNextExpectedRun, prewakeMachines } from '@muster/schedules';
import { VmConfig } from '@muster/vm';

/** Runs the loops for work that no queue message triggers. */
@Injectable()
export class DispatcherLoops extends AppLoops {
  constructor(
    @Inject(Metrics) metrics: Metrics,
    @Inject(LoopLedger) ledger: LoopLedger,
    @Inject(PubSub) pubSub: PubSub,
    @Inject(Database) database: Database,
    @Inject(Clock) clock: Clock,
    @Inject(Dispatch) dispatch: Dispatch,
    @Inject(CommandDelivery) delivery: CommandDelivery,
    @Inject(MachineControl) machines: MachineControl,
    @Inject(Reaper) private readonly reaper: Reaper,
    @Inject(DispatchConfig) { dispatchSweepMs, placementSweepMs }: DispatchConfig,
    @Inject(MachinesConfig) machinesConfig: MachinesConfig,
    @Inject(CommandsConfig) { commandSweepMs }: CommandsConfig,
    @Inject(VmConfig) { wakeTimeoutMs }: VmConfig,
    @Inject(ReaperConfig) { reaperTickMs }: ReaperConfig,
  ) {
    const { agentOfflineAfterMs: offlineAfterMs, idleMonitorTickMs, prewakeTickMs } = machinesConfig;
    super(
      [
        {
          name: 'sweep dispatch',
          intervalMs: dispatchSweepMs,
          budgetMs: 10_000,
          runOnce: (round) => sweepDispatch(database, dispatch, round),
        },
        {
          name: 'sweep placements',
          intervalMs: placementSweepMs,
          budgetMs: 10_000,
          runOnce: (round) => sweepPlacements({ database, dispatch, now: () => clock.now(), wakeTimeoutMs }, round),
        },
        {
          name: 'offer accounts',
          // Nothing reports that the rest period of an account has ended, so a run that waits for the account starts
          // only after the next pass of this loop.
          intervalMs: 1000,
          runOnce: () => enqueueJobsWithFreeAccounts(database),
        },
        {
          name: 'escalate cancels',
          intervalMs: dispatchSweepMs,
          budgetMs: 10_000,
          runOnce: (round) => escalateCancels(database, clock.now(), round),
        },
        {
          name: 'stop runs over budget',
          intervalMs: 5000,
          budgetMs: 10_000,
          runOnce: (round) => failRunsOverBudget(database, {}, round),
        },
        {
          name: 'ring for analyses',
          intervalMs: 1000,
          restsWhenQuiet: true,
          runOnce: () => enqueueDueAnalyses(database),
        },
        {
          name: 'push commands',
          intervalMs: commandSweepMs,
          restsWhenQuiet: true,
          runOnce: (round) => delivery.deliverDueCommands(round),
        },
        {
          name: 'fail overdue commands',
          intervalMs: commandSweepMs,
          restsWhenQuiet: true,
          runOnce: (round) => failOverdueCommands(database, round),
        },
        {
          name: 'sweep autopilot sessions',
          intervalMs: commandSweepMs,
          restsWhenQuiet: true,
          runOnce: (round) => sweepSessions(database, round),
        },
        {
          name: 'fail silent agents',
          // The interval is at most a tenth of the time after which a silent agent becomes offline, so that the loop
          // notices it soon.
          intervalMs: Math.min(10_000, Math.max(20, offlineAfterMs / 10)),
          runOnce: (round) => failSilentAgents(database, { offlineAfterMs }, round),
        },
        {
          name: 'stop idle agents',
          intervalMs: idleMonitorTickMs,
          runOnce: (round) => stopIdleAgents(database, { findExpectedRun: findNextExpectedRun }, round),
        },
        { name: 'learn habits', intervalMs: idleMonitorTickMs, runOnce: (round) => learnIdleHabits(database, round) },
        {
          name: 'prewake machines',
          intervalMs: prewakeTickMs,
          runOnce: (round) => prewakeMachines(database, { now: () => clock.now(), wakeTimeoutMs }, round),
        },
        {
          name: 'sweep machines',
          intervalMs: 1000,
          restsWhenQuiet: true,
          runOnce: (round) => machines.startAllDueWork(round),
          ended: () => machines.waitUntilIdle(),
        },
        {
          name: 'reap machines',
          intervalMs: reaperTickMs,
          runOnce: (round) =>
            reaper.reapMachinesOnce(
              { onTerminated: (tx, agentRef) => endCommandsOfTerminated(tx, agentRef, 'watchdog') },
              round,
            ),
        },
      ],
      { app: 'dispatcher', metrics, ledger, pubSub },
    );
  }

  override async onApplicationShutdown(): Promise<void> {
    this.reaper.abortReaping();
    await super.onApplicationShutdown();
  }
}
