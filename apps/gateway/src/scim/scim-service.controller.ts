import { Controller, Get, Header, Inject } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, scim, scimContentType, SignInConfig, toScimError } from '@muster/access';
import { ScimDefinitionList, ScimServiceProviderConfig } from '@muster/contracts';
import { buildList, getScimAddress } from './present-scim';
import { describeService, listResourceTypes, listSchemas } from './scim-definitions';

/** Describes to identity providers what the service supports of SCIM (RFC 7644, section 4). */
@ApiTags('SCIM')
@Controller('/api/scim/v2')
export class ScimServiceController {
  private readonly base: string;

  constructor(@Inject(SignInConfig) config: SignInConfig) {
    this.base = getScimAddress(config);
  }

  @Get('/ServiceProviderConfig')
  @Header('content-type', scimContentType)
  @Endpoint({
    summary: 'Get the supported parts of SCIM',
    access: scim,
    answer: ScimServiceProviderConfig,
    failsAs: toScimError,
  })
  readConfig(): ScimServiceProviderConfig {
    return describeService(this.base);
  }

  @Get('/ResourceTypes')
  @Header('content-type', scimContentType)
  @Endpoint({
    summary: 'List the resource types of SCIM',
    access: scim,
    answer: ScimDefinitionList,
    failsAs: toScimError,
  })
  readResourceTypes(): ScimDefinitionList {
    return listDefinitions(listResourceTypes(this.base));
  }

  @Get('/Schemas')
  @Header('content-type', scimContentType)
  @Endpoint({ summary: 'List the schemas of SCIM', access: scim, answer: ScimDefinitionList, failsAs: toScimError })
  readSchemas(): ScimDefinitionList {
    return listDefinitions(listSchemas(this.base));
  }
}

function listDefinitions(all: Record<string, unknown>[]): ScimDefinitionList {
  return buildList(all.length, { offset: 0, limit: all.length }, all);
}
