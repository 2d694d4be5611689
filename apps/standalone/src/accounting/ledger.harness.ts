// The input of a generated month, as the generator recorded it. Only ids and the times of runs come from the service.

export interface Usage {
  provider: string;
  model: string;
  input: number;
  output: number;
  /** Cost of the call in USD that the worker reported; null if it reported none. */
  reported: number | null;
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
  /** Price of the run's machine in USD per hour, at the end of the run. */
  hourly: number;
  usages: Usage[];
  /** Total cost in USD that the worker reported; null if it reported none. */
  reported: number | null;
  deleted: boolean;
  billing: BillingStep[];
  /** Outcome of each claim as last reported, by claim id. */
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
