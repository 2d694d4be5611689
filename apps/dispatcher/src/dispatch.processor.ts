import { Inject } from '@nestjs/common';
import { CommandDelivery, recoverAgent } from '@muster/commands';
import { MachineControl } from '@muster/machines';
import { advanceAnalysis } from '@muster/assistant';
import type {
  AgentPayload,
  AnalysisPayload,
  BatchPayload,
  CommandPayload,
  JobPayloadIds,
  OrganizationPayload,
  ProbePayload,
  WakePayload,
} from '@muster/contracts';
import { answerQueueProbe, Database } from '@muster/database';
import {
  cancelBatch,
  cancelJobsOfStoppedAgent,
  failRunIfOverBudget,
  applyStopResult,
  Dispatch,
  placeJob,
  placeJobsOfOrganization,
  type PlacementParts,
} from '@muster/jobs';
import { Clock, HandlesJob, ProcessesQueue, QueueProcessor, type ReceivedMessage } from '@muster/platform';
import { KeyRing } from '@muster/vault';
import { VmConfig } from '@muster/vm';
import { AnalysisContext } from './analysis-context';

@ProcessesQueue('dispatch')
export class DispatchProcessor extends QueueProcessor {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Dispatch) private readonly starts: Dispatch,
    @Inject(CommandDelivery) private readonly delivery: CommandDelivery,
    @Inject(MachineControl) private readonly machines: MachineControl,
    @Inject(KeyRing) private readonly keyRing: KeyRing,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(VmConfig) private readonly vm: VmConfig,
    @Inject(AnalysisContext) private readonly analyses: AnalysisContext,
  ) {
    super();
  }

  @HandlesJob('dispatch', 'probe')
  async answerProbe({ probeId }: ProbePayload): Promise<void> {
    await answerQueueProbe(this.database, probeId, 'dispatcher');
  }

  @HandlesJob('dispatch', 'dispatch-agent')
  async dispatchAgent({ agentId }: AgentPayload, message: ReceivedMessage): Promise<void> {
    await this.starts.startNextJob(agentId, message);
  }

  @HandlesJob('dispatch', 'place-job')
  async placeJob({ jobId }: JobPayloadIds): Promise<void> {
    await placeJob(this.placementParts, jobId);
  }

  @HandlesJob('dispatch', 'place-jobs')
  async placeJobs({ organizationId }: OrganizationPayload): Promise<void> {
    await placeJobsOfOrganization(this.placementParts, organizationId);
  }

  @HandlesJob('dispatch', 'deliver-command')
  async deliverCommand({ commandId }: CommandPayload): Promise<void> {
    await this.delivery.deliverCommand(commandId);
  }

  @HandlesJob('dispatch', 'command-finished')
  async applyFinishedCommand({ commandId }: CommandPayload): Promise<void> {
    await applyStopResult(this.database, commandId);
  }

  @HandlesJob('dispatch', 'wake-agent')
  async wakeAgent({ wakeId }: WakePayload): Promise<void> {
    await this.machines.attemptWake(wakeId);
  }

  @HandlesJob('dispatch', 'recover-agent')
  async recoverAgent({ agentId }: AgentPayload): Promise<void> {
    await recoverAgent({ database: this.database, keyRing: this.keyRing }, agentId);
  }

  @HandlesJob('dispatch', 'control-agent')
  async executeAgentOrder({ agentId }: AgentPayload): Promise<void> {
    await this.machines.executeOrder(agentId);
  }

  @HandlesJob('dispatch', 'analyze-video')
  async analyzeVideo({ analysisId }: AnalysisPayload): Promise<void> {
    await advanceAnalysis(this.analyses.parts, analysisId);
  }

  @HandlesJob('dispatch', 'cancel-batch')
  async cancelBatch({ batchId }: BatchPayload): Promise<void> {
    await cancelBatch(this.database, batchId, () => this.clock.now());
  }

  @HandlesJob('dispatch', 'check-budget')
  async checkBudget({ jobId }: JobPayloadIds): Promise<void> {
    await failRunIfOverBudget(this.database, jobId);
  }

  @HandlesJob('dispatch', 'agent-stopped')
  async cancelJobsOfStoppedAgent({ agentId }: AgentPayload): Promise<void> {
    await cancelJobsOfStoppedAgent(this.database, agentId);
  }

  private get placementParts(): PlacementParts {
    const { database, starts: dispatch, clock, vm } = this;
    return { database, dispatch, now: () => clock.now(), wakeTimeoutMs: vm.wakeTimeoutMs };
  }
}
