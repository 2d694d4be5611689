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

/** Which price there is depends on pricingType; each type has its own and no other's. */
export class ClientPricingModel {
  @EnumField(pricingTypes) pricingType!: PricingType;
  @IntField({
    optional: true,
    min: 1,
    max: 1_000_000,
    example: 50,
    description: 'npi_claim_block alone: claims in a block.',
  })
  blockSize?: number;
  @UsdField({ ...usd, optional: true, description: 'npi_claim_block alone: a begun block of one NPI.' })
  pricePerBlockUsd?: number;
  @UsdField({ ...usd, optional: true, example: undefined, description: 'per_claim alone.' })
  pricePerClaimUsd?: number;
  @UsdField({ ...usd, optional: true, example: undefined, description: 'flat_per_run alone.' })
  pricePerRunUsd?: number;
  @UsdField({ ...usd, optional: true, example: 0, description: 'A run is never charged less; 0 when absent.' })
  minimumUsd?: number;
}

export class BackfillBody {
  @UuidField() job_id!: string;
  @BooleanField({ optional: true, description: 'Gives the organization the default model where it has none.' })
  create_default_model?: boolean;
  @BooleanField({ optional: true, description: 'Replaces the record that the job has.' }) force?: boolean;
}

class BillingFigures {
  @UuidField() metric_id!: string;
  @UuidField() organization_id!: string;
  @IntField({ example: 1 }) npi_count!: number;
  @IntField({ example: 70 }) total_claims!: number;
  @IntField({ example: 72, description: 'Every claim_result step.' }) total_steps_before_dedup!: number;
  @IntField({ example: 2, description: 'Those that repeat a pair of NPI and claim.' }) duplicates_removed!: number;
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
  @UuidField({ description: 'Also of a job that was deleted since.' }) job_id!: string;
  @EnumField(['claim_result', 'select_org_provider'], { description: 'The steps that it was computed from.' })
  computed_from!: string;
  @DateTimeField() computed_at!: string;
}

export class BillingMetricList {
  @ListField(() => BillingMetric) metrics!: BillingMetric[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class BillingMetricQuery extends PageQuery {
  @UuidField({ optional: true }) jobId?: string;
  @UuidField({ optional: true, description: 'For a super_admin: one organization’s alone.' }) organizationId?: string;
  @DayField({ optional: true, description: 'Computed on this day of the organization’s zone or later.' }) from?: string;
  @DayField({ optional: true, description: 'Computed on this day of the organization’s zone or before.' }) to?: string;
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
