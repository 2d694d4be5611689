import { UuidField } from '../http/fields';

export class ProbePayload {
  @UuidField() probeId!: string;
}

export class AgentPayload {
  @UuidField() agentId!: string;
}

export class LinkPayload {
  @UuidField() linkId!: string;
}

export class CommandPayload {
  @UuidField() commandId!: string;
}

export class WakePayload {
  @UuidField() wakeId!: string;
}

export class BatchPayload {
  @UuidField() batchId!: string;
}

export class RecomputePayload {
  @UuidField() recomputeId!: string;
}

export class JobPayloadIds {
  @UuidField() jobId!: string;
}

export class PilotBatchPayload {
  @UuidField() pilotBatchId!: string;
}

export class SessionPayload {
  @UuidField() sessionId!: string;
}

export class AnalysisPayload {
  @UuidField() analysisId!: string;
}

export class SubmissionPayload {
  @UuidField() submissionId!: string;
}

export class OrganizationPayload {
  @UuidField() organizationId!: string;
}

export class EndpointPayload {
  @UuidField() endpointId!: string;
}
