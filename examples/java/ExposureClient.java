import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** What has this user not been shown? java ExposureClient URL USER [TOKEN] */
public class ExposureClient {
    private static final String BITMAP = "application/octet-stream";

    private final HttpClient http = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(2)).build();
    private final String url;
    private final String token;

    ExposureClient(String url, String token) {
        this.url = url;
        this.token = token;
    }

    private byte[] post(String path, String type, String accept, byte[] body) throws IOException, InterruptedException {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url + path)).timeout(Duration.ofSeconds(5))
                .header("Content-Type", type).header("Accept", accept).POST(BodyPublishers.ofByteArray(body));
        if (token != null) {
            request.header("Authorization", "Bearer " + token);
        }
        HttpResponse<byte[]> response = http.send(request.build(), BodyHandlers.ofByteArray());
        if (response.statusCode() >= 300) {
            // A problem (RFC 9457): a sentence in "detail", the field at fault in "field".
            throw new IOException(response.statusCode() + " " + new String(response.body(), StandardCharsets.UTF_8));
        }
        return response.body();
    }

    private static String quote(String s) {
        return '"' + s.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
    }

    private static String array(List<String> items) {
        return items.stream().map(ExposureClient::quote).collect(Collectors.joining(",", "[", "]"));
    }

    /** Reports items; when this returns they are durable, and the next filter knows them. */
    void report(String user, String kind, List<String> items) throws IOException, InterruptedException {
        String body = "{\"user\":" + quote(user) + ",\"kind\":\"" + kind + "\",\"items\":" + array(items) + "}";
        post("/exposures", "application/json", "application/json", body.getBytes(StandardCharsets.UTF_8));
    }

    /** Asks in JSON and returns the JSON answer: {"items":[...],"dropped":n}. */
    String filter(String user, List<String> items) throws IOException, InterruptedException {
        String body = "{\"user\":" + quote(user) + ",\"items\":" + array(items) + "}";
        return new String(post("/filter", "application/json", "application/json", body.getBytes(StandardCharsets.UTF_8)),
                StandardCharsets.UTF_8);
    }

    /** The cheap way: the answer is a bitmap. */
    List<Long> filterBits(String user, List<Long> ids) throws IOException, InterruptedException {
        String body = "{\"user\":" + quote(user) + ",\"items\":" + ids + "}";
        byte[] bitmap = post("/filter", "application/json", BITMAP, body.getBytes(StandardCharsets.UTF_8));
        List<Long> unseen = new ArrayList<>();
        for (int i = 0; i < ids.size(); i++) {
            if ((bitmap[i >> 3] >> (i & 7) & 1) != 0) {
                unseen.add(ids.get(i));
            }
        }
        return unseen;
    }

    public static void main(String[] args) throws Exception {
        ExposureClient client = new ExposureClient(args[0], args.length > 2 ? args[2] : null);
        String user = args[1];
        client.report(user, "seen", List.of("1001", "1003", "caf\u00e9/\u4e2d\u6587"));
        System.out.println(client.filter(user, List.of("1001", "1002", "caf\u00e9/\u4e2d\u6587", "new")));
        System.out.println(client.filterBits(user, List.of(1001L, 1002L, 1003L, 1004L)));
    }
}
