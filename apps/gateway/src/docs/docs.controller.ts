import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Controller, Get, Param, Res } from '@nestjs/common';
import { ApiExcludeEndpoint } from '@nestjs/swagger';
import { anyone, Endpoint } from '@muster/access';
import { AppError, openApiDocument } from '@muster/contracts';
import { buildPagePolicy } from '@muster/platform';
import type { FastifyReply } from 'fastify';

const assets: Record<string, string> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
};

const start = `window.ui = SwaggerUIBundle({ url: '/api/openapi.json', dom_id: '#ui', deepLinking: true });`;

const page = `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width">
  <title>Muster API</title>
  <link rel="stylesheet" href="/api/docs/swagger-ui.css">
</head>
<body>
  <div id="ui"></div>
  <script src="/api/docs/swagger-ui-bundle.js"></script>
  <script src="/api/docs/start.js"></script>
</body>
</html>
`;

/** Serves the OpenAPI document of all apps, and a Swagger UI page that displays it. */
@Controller()
export class DocsController {
  /** Redirects a browser that opens the service's address to the console. */
  @Get('/')
  @ApiExcludeEndpoint()
  @Endpoint({ summary: 'Redirect to the console', access: anyone })
  frontDoor(@Res() reply: FastifyReply): void {
    void reply.redirect('/app', 302);
  }

  @Get('/api/openapi.json')
  @Endpoint({ summary: 'Read the OpenAPI document', access: anyone })
  document(@Res() reply: FastifyReply): void {
    void reply.send(openApiDocument);
  }

  @Get('/api/docs')
  @ApiExcludeEndpoint()
  @Endpoint({ summary: 'Show the OpenAPI document as a page', access: anyone })
  page(@Res() reply: FastifyReply): void {
    void reply
      .header('content-security-policy', buildPagePolicy("img-src 'self' data:", "style-src 'self' 'unsafe-inline'"))
      .type('text/html; charset=utf-8')
      .send(page);
  }

  @Get('/api/docs/:file')
  @ApiExcludeEndpoint()
  @Endpoint({ summary: 'Read a file of the documentation page', access: anyone })
  asset(@Param('file') file: string, @Res() reply: FastifyReply): void {
    if (file === 'start.js') {
      void reply.type('text/javascript; charset=utf-8').send(start);
      return;
    }
    const type = assets[file];
    if (!type) throw new AppError('not_found', { detail: 'This path does not exist. Check the address.' });
    const folder = dirname(require.resolve('swagger-ui-dist/package.json'));
    void reply
      .header('cache-control', 'public, max-age=86400')
      .type(type)
      .send(readFileSync(join(folder, file)));
  }
}
