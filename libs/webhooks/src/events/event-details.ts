import type {
  AccountFailure,
  AgentStatus,
  AlertStatus,
  ApiKeyScope,
  FeedbackStatus,
  JobStatus,
  PackStage,
  QuestionStatus,
  SessionStatus,
  TickOutcome,
  WebhookType,
} from '@muster/contracts';

/**
 * Fields that are stored with an event, by the kind of its resource: the state at the time of the event, which may have
 * changed before the body is read, and fields that the resource itself does not have.
 */
interface DetailsOfKind {
  job: { status: JobStatus };
  /** No field is stored for a batch, because its counts are read together with the batch. */
  batch: null;
  agent: { status: AgentStatus };
  schedule: { lastResult: TickOutcome; reason: string | null; nominalAt: string };
  /** The resource is the organization. These fields are the whole data of the event. */
  limit: { limit: string; used: number; max: number };
  /** The resource is the organization, because the id of an API key is not a UUID. */
  api_key: { apiKeyId: string; name: string; scope: ApiKeyScope; expiresAt: string; daysLeft: number };
  /** Details of an event about a version of a pack. */
  pack: { packId: string; stage: PackStage };
  installation: { pinnedVersionId: string; previousVersionId: string | null };
  autopilot: { agentId: string; status: SessionStatus };
  feedback: { status: FeedbackStatus };
  question: { status: QuestionStatus };
  account: {
    status: 'set_aside';
    name: string;
    pool: string;
    reason: AccountFailure;
    message: string | null;
    since: string;
    jobId: string;
  };
  /** The data of an event about a user consists of only these fields. */
  user: { userId: string; email: string; secondFactor: string; address: string };
  /** Filters select alerts by the two ids. `to` is the audience of the question that the alert is about. */
  alert: {
    status: AlertStatus;
    /** Null in the event that the alert opened, even if it was resolved before the body is read. */
    resolvedAt?: null;
    count: number;
    workflowId: string | null;
    agentId: string | null;
    to?: string[];
  };
}

type SubjectKind = keyof DetailsOfKind;
type TypeOfKind<Kind extends SubjectKind> = Extract<WebhookType, `${Kind}.${string}`>;

/** A type of event with its details. */
export type TypedDetails = {
  [Kind in SubjectKind]: { type: TypeOfKind<Kind>; details: DetailsOfKind[Kind] };
}[SubjectKind];

/**
 * A type of event with the resources that it is about: jobs, batches, agents, … Events about limits and API keys have
 * the organization as their resource.
 */
export type TypedEvents = {
  [Kind in SubjectKind]: { type: TypeOfKind<Kind>; subjects: { id: string; details: DetailsOfKind[Kind] }[] };
}[SubjectKind];
