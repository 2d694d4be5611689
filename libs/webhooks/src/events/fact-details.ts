import type {
  AgentStatus,
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
 * What a fact says by itself, by the kind of thing that it is about: the state that it names, which the thing may have
 * left before its body is read, and what is not to be read of the thing at all.
 */
interface DetailsOfKind {
  job: { status: JobStatus };
  /** It has no state: its counts are its own. */
  batch: null;
  agent: { status: AgentStatus };
  schedule: { lastResult: TickOutcome; reason: string | null; nominalAt: string };
  /** About the organization, and this is all that there is. */
  limit: { limit: string; used: number; max: number };
  /** About the organization too: a key's id is no uuid. */
  api_key: { apiKeyId: string; name: string; scope: ApiKeyScope; expiresAt: string; daysLeft: number };
  /** About a version. */
  pack: { packId: string; stage: PackStage };
  installation: { pinnedVersionId: string; previousVersionId: string | null };
  autopilot: { agentId: string; status: SessionStatus };
  feedback: { status: FeedbackStatus };
  question: { status: QuestionStatus };
}

type FactKind = keyof DetailsOfKind;
type TypeOfKind<Kind extends FactKind> = Extract<WebhookType, `${Kind}.${string}`>;

/** One type of fact, with what it says. */
export type TypedDetails = {
  [Kind in FactKind]: { type: TypeOfKind<Kind>; details: DetailsOfKind[Kind] };
}[FactKind];

/** One type of fact, and the things that it is about: job, batch, agent, …; of a limit or an API key the organization. */
export type TypedFacts = {
  [Kind in FactKind]: { type: TypeOfKind<Kind>; of: { id: string; details: DetailsOfKind[Kind] }[] };
}[FactKind];
