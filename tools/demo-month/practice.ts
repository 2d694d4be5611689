/** A kind of run of the practice: its frequency, duration and outcomes. */
export interface Routine {
  name: string;
  description: string;
  variables: Record<string, readonly string[]>;
  steps: readonly string[];
  /** Share of all runs, from 0 to 1. */
  share: number;
  /** Typical duration of a run, in minutes. */
  minutes: number;
  /** Typical number of claims in a run. */
  claims: number;
  failing: number;
  /** Causes of failed runs, the most frequent one first. */
  errors: readonly [code: string, error: string][];
  /** The schedule that launches runs of this kind, in addition to the runs that people launch. */
  cron?: { expression: string; name: string };
  usesModel: boolean;
}

const payers = ['Delta Dental', 'Cigna', 'MetLife', 'Aetna', 'Guardian', 'UnitedHealthcare'];

const createTimeoutError = (element: string) => `TimeoutError: ${element} did not appear within 30 s`;

export const routines: readonly Routine[] = [
  {
    name: 'Submit claims',
    description: 'Takes the day’s claims from the practice’s ledger to the payer’s portal, with their X-rays.',
    variables: { CLAIM_ID: ['C-{n}'], PAYER: payers },
    steps: ['Open the portal', 'Find the patient', 'Fill in the claim', 'Attach X-rays', 'Submit', 'Save the receipt'],
    share: 0.42,
    minutes: 4,
    claims: 3,
    failing: 0.05,
    errors: [
      ['script_failed', createTimeoutError('the button “Submit claim”')],
      ['script_failed', 'PortalError: the member ID {n} is not known to the payer'],
      ['agent_lost', 'no report from the worker for 2 min'],
    ],
    usesModel: false,
  },
  {
    name: 'Download EOBs',
    description: 'Fetches the explanations of benefits that came overnight, and files them with their patients.',
    variables: { PAYER: payers },
    steps: ['Open the portal', 'List what is new', 'Download', 'File with the patients'],
    share: 0.28,
    minutes: 11,
    claims: 9,
    failing: 0.07,
    errors: [
      ['script_failed', 'PortalError: the password of the account has expired'],
      ['script_failed', createTimeoutError('the list of documents')],
    ],
    cron: { expression: '0 5 * * 1-5', name: 'EOBs before opening' },
    usesModel: false,
  },
  {
    name: 'Check eligibility',
    description: 'Asks each payer what the patients of the next day are covered for.',
    variables: { DAY: ['tomorrow'], PAYER: payers },
    steps: ['Read the appointments', 'Ask the payer', 'Write down the coverage'],
    share: 0.18,
    minutes: 7,
    claims: 0,
    failing: 0.03,
    errors: [['script_failed', 'HTTPError: 503 Service Unavailable from eligibility.payer.example']],
    cron: { expression: '30 19 * * 1-5', name: 'Eligibility for tomorrow' },
    usesModel: false,
  },
  {
    name: 'Narratives for denied claims',
    description: 'Writes why a treatment was needed, from the chart and the X-rays, for a person to approve.',
    variables: { CLAIM_ID: ['C-{n}'] },
    steps: ['Read the chart', 'Look at the X-rays', 'Write the narrative', 'Ask for approval', 'Send the appeal'],
    share: 0.12,
    minutes: 16,
    claims: 1,
    failing: 0.09,
    errors: [
      ['script_failed', 'NotAnswered: nobody approved the narrative within 8 h'],
      ['cost_limit', 'the run cost more than its limit of $1.50'],
    ],
    usesModel: true,
  },
];

export const machines = ['Front desk', 'Billing', 'Back office', 'Imaging', 'Night'].flatMap((room) =>
  ['Main Street', 'Riverside', 'Oak Park'].map((site) => ({
    name: `${room} · ${site}`,
    labels: [toSlug(room), toSlug(site)],
  })),
);

function toSlug(text: string): string {
  return text.toLowerCase().replaceAll(' ', '-');
}
