import {
  BooleanField,
  DateTimeField,
  DayField,
  EnumField,
  IntField,
  JsonField,
  ListField,
  NumberField,
  UsdField,
  TextField,
  UuidField,
} from '../fields';
import { PageQuery } from '../pages';

const pricingTypes = ['npi_claim_block', 'per_claim', 'flat_per_run'] as const;
export type PricingType = (typeof pricingTypes)[number];

const usd = { max: 1_000_000, example: 25 };

/** How an organization is charged for runs. Each pricingType has its own price field and does not allow the others. */
export class ClientPricingModel {
  @EnumField(pricingTypes) pricingType!: PricingType;
  @IntField({
    optional: true,
    min: 1,
    max: 1_000_000,
    example: 50,
    description:
      'Only for npi_claim_block: number of claims in a block. NPI is the number of a health care provider in the US.',
  })
  blockSize?: number;
  @UsdField({
    ...usd,
    optional: true,
    description:
      'Only for npi_claim_block: price of each block of claims of one NPI. A partly filled block has the full price.',
  })
  pricePerBlockUsd?: number;
  @UsdField({ ...usd, optional: true, example: undefined, description: 'Only for per_claim: price of a claim.' })
  pricePerClaimUsd?: number;
  @UsdField({ ...usd, optional: true, example: undefined, description: 'Only for flat_per_run: price of a run.' })
  pricePerRunUsd?: number;
  @UsdField({ ...usd, optional: true, example: 0, description: 'Minimum charge for a run; 0 if absent.' })
  minimumUsd?: number;
}

export class BackfillBody {
  @UuidField() job_id!: string;
  @BooleanField({
    optional: true,
    description: 'Whether to create the default pricing model if the organization has no model.',
  })
  create_default_model?: boolean;
  @BooleanField({ optional: true, description: 'Whether to replace an existing billing record of the job.' })
  force?: boolean;
}

class BillingFigures {
  @UuidField() metric_id!: string;
  @UuidField() organization_id!: string;
  @IntField({ example: 1 }) npi_count!: number;
  @IntField({ example: 70 }) total_claims!: number;
  @IntField({
    example: 72,
    description: 'Number of all steps of the run that report the result of a claim (claim_result).',
  })
  total_steps_before_dedup!: number;
  @IntField({
    example: 2,
    description: 'Number of these steps that report a claim for a second time. These repeated steps are not counted.',
  })
  duplicates_removed!: number;
  @JsonField({ example: { '1234567893': 70 } }) claims_per_npi!: Record<string, number>;
  @NumberField({ example: 50 }) calculated_charge_usd!: number;
  @JsonField({
    example: {
      pricingType: 'npi_claim_block',
      blockSize: 50,
      pricePerBlockUsd: 25,
      npis: [{ npi: '1234567893', claims: 70, blocks: 2, chargeUsd: 50 }],
      minimumUsd: 0,
    },
  })
  charge_breakdown!: Record<string, unknown>;
}

export class BackfillAnswer extends BillingFigures {
  @BooleanField({ example: true }) success!: boolean;
  @BooleanField() replaced_existing!: boolean;
}

export class BillingMetric extends BillingFigures {
  @UuidField({ description: 'Id of the job. The job may have been deleted since.' }) job_id!: string;
  @EnumField(['claim_result', 'select_org_provider'], {
    description:
      'Type of the steps that the claims were counted from: steps that report a claim, or steps that select an NPI (the number of a health care provider in the US).',
  })
  computed_from!: string;
  @DateTimeField() computed_at!: string;
}

export class BillingMetricList {
  @ListField(() => BillingMetric) metrics!: BillingMetric[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class BillingMetricQuery extends PageQuery {
  @UuidField({ optional: true }) jobId?: string;
  @UuidField({
    optional: true,
    description: 'Id of the organization whose records are returned. For a super_admin: all organizations if absent.',
  })
  organizationId?: string;
  @DayField({
    optional: true,
    description: 'First day on which the records were computed, in the organization’s time zone.',
  })
  from?: string;
  @DayField({
    optional: true,
    description: 'Last day on which the records were computed, in the organization’s time zone.',
  })
  to?: string;
}

export class BillingMetricStep {
  @IntField({ example: 12 }) step_order!: number;
  @TextField({ nullable: true, example: '1234567893' }) npi!: string | null;
  @TextField({ nullable: true, example: 'C-1042' }) claim_id!: string | null;
  @TextField({ nullable: true, example: null }) claim_submission_id!: string | null;
  @EnumField(['counted', 'repeated', 'left_out']) verdict!: string;
}

export class BillingMetricStepList {
  @ListField(() => BillingMetricStep) steps!: BillingMetricStep[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}
