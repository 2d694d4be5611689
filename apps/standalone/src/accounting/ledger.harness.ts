// What a generated month was made of, as the one who made it wrote it down. Nothing here comes from the service but ids
// and the times that a run shows.

export interface Usage {
  provider: string;
  model: string;
  input: number;
  output: number;
  /** What the worker said that it cost. */
  said: number | null;
  at: string;
}

export interface Run {
  id: string;
  workflowId: string;
  agentId: string;
  scheduleId: string | null;
  status: 'completed' | 'failed' | 'cancelled';
  startedAt: string | null;
  finishedAt: string;
  /** USD an hour that its machine cost when it ended. */
  hourly: number;
  usages: Usage[];
  /** What the worker said that all of it cost. */
  reported: number | null;
  deleted: boolean;
  billing: BillingStep[];
  /** What became of each claim, by the last word. */
  claims: Record<string, Claim['outcome']>;
}

export interface BillingStep {
  type: 'claim_result' | 'select_org_provider';
  npi?: string;
  claim_id?: string;
  claim_submission_id?: string;
}

export interface Claim {
  outcome: 'eob_uploaded' | 'no_eob_found' | 'failed';
  seconds: number | null;
}

export interface Batch {
  id: string;
  jobId: string | null;
  workflowId: string | null;
  day: string;
  claims: Claim[];
}

export interface Price {
  provider: string;
  model: string;
  inputUsdPerMillion: number;
  outputUsdPerMillion: number;
  from: string;
}

export interface Office {
  name: string;
  zone: string;
  labor: number;
  minutes: number;
  prices: Price[];
  runs: Run[];
  batches: Batch[];
  pricing: Record<string, unknown> & { pricingType: string };
}
